#include "backends/cpu/code_memory.h"

#include <llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h>

#include <utility>

namespace neap::cpu {

namespace {

constexpr size_t kBlock = size_t{1} << 20;  // bytes: few ranges of memory for many kernels, little unused for few

class ConstantsAreCode : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph&,
                        llvm::jitlink::PassConfiguration& passes) override {
    // The table of the addresses of called functions is there by then.
    passes.PostPrunePasses.emplace_back([](llvm::jitlink::LinkGraph& graph) {
      using llvm::BitmaskEnumDetail::operator|;
      using llvm::orc::MemProt;
      for (llvm::jitlink::Section& section : graph.sections()) {
        if (section.getMemProt() == MemProt::Read) section.setMemProt(MemProt::Read | MemProt::Exec);
      }
      return llvm::Error::success();
    });
  }

  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey, llvm::orc::ResourceKey) override {}
};

class Refusal : public llvm::orc::IRCompileLayer::IRCompiler {
 public:
  Refusal() : IRCompiler(llvm::orc::IRSymbolMapper::ManglingOptions()) {}
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> operator()(llvm::Module&) override {
    return llvm::createStringError("this session links objects alone");
  }
};

}  // namespace

std::unique_ptr<llvm::orc::IRCompileLayer::IRCompiler> new_refusal() { return std::make_unique<Refusal>(); }

std::unique_ptr<llvm::orc::ObjectLinkingLayer> new_linking_layer(llvm::orc::ExecutionSession& session) {
  auto mapper = llvm::cantFail(llvm::orc::InProcessMemoryMapper::Create());
  auto memory = std::make_unique<llvm::orc::MapperJITLinkMemoryManager>(kBlock, std::move(mapper));
  auto layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(session, std::move(memory));
  layer->addPlugin(std::make_shared<ConstantsAreCode>());
  return layer;
}

}  // namespace neap::cpu
