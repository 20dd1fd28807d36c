// Programs at random call the host as the reference does, however they are planned. NEAP_TEST_SEED=n checks that one
// alone.
#include <cstdlib>

#include "tests/conformance/check_effects.h"

namespace neap::conformance {
namespace {

class EffectPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(EffectPrograms, CallTheHostAsTheReferenceDoes) {
  if (const char* seed = std::getenv("NEAP_TEST_SEED")) return check_effects(std::strtoull(seed, nullptr, 10));
  const uint64_t programs = default_device() == cpu() ? 4 : 1;  // drivers compile slowly
  for (uint64_t seed = GetParam() * programs; seed < (GetParam() + 1) * programs && !HasFailure(); ++seed)
    check_effects(seed);
}

// Faults as a pass may make them, in what nobody reads.
enum class Fault : uint8_t { dropped, doubled, swapped };

// Whether there was a place for the fault, in the graph or in one of its nodes.
bool plant(Graph& graph, Fault fault, Random& random) {
  const std::vector<int> uses = tracing::count_uses(graph);
  std::vector<size_t> order, effects;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    tracing::Node& node = graph.nodes[i];
    order.push_back(i);
    if (node.op == Op::host_call && node.attrs.function(Attr::callee)->effect && uses[node.out()] == 0)
      effects.push_back(i);
    if (!tracing::has_effects(node) || node.op == Op::host_call || random() % 2) continue;
    Graph body = *node.attrs.graph(Attr::body);
    if (!plant(body, fault, random)) continue;
    node.attrs.set(Attr::body, std::make_shared<const Graph>(std::move(body)));
    return true;
  }
  if (effects.size() < (fault == Fault::swapped ? 2 : 1)) return false;
  const size_t which = random() % (effects.size() - (fault == Fault::swapped));
  const auto at = order.begin() + static_cast<std::ptrdiff_t>(effects[which]);
  switch (fault) {
    case Fault::dropped: order.erase(at); break;
    case Fault::doubled: order.insert(at, *at); break;
    case Fault::swapped: std::rotate(at, at + 1, order.begin() + static_cast<std::ptrdiff_t>(effects[which + 1]) + 1);
  }
  Graph broken;
  std::vector<ValueId> renamed(graph.values.size(), tracing::no_value);
  for (const ValueId v : graph.inputs) renamed[v] = broken.add_input(graph.aval(v));
  for (const size_t i : order) {
    const tracing::Node& node = graph.nodes[i];
    std::vector<ValueId> in;
    for (const ValueId v : node.inputs) in.push_back(renamed[v]);
    const auto made = broken.nodes[broken.add_node(node.op, in, node.attrs, node.loc)].outputs;
    for (size_t o = 0; o < made.size(); ++o) renamed[node.outputs[o]] = made[o];
  }
  for (const ValueId v : graph.outputs) broken.outputs.push_back(renamed[v]);
  graph = std::move(broken);
  return true;
}

TEST(EffectFaults, AreFound) {
  for (const Fault fault : {Fault::dropped, Fault::doubled, Fault::swapped}) {
    int planted = 0, found = 0;
    for (uint64_t seed = 0; seed < 400 && planted < 6; ++seed) {
      Random random(seed);
      const EffectProgram program(seed);
      Graph graph = graph_of(program);
      if (graph.nodes.size() > 300 || !plant(graph, fault, random)) continue;
      ++planted;
      found += called(jitted(graph), {program.input}).said != by_reference(program, program.input).said;
    }
    EXPECT_EQ(planted, 6);
    EXPECT_GE(found, 3) << "but for where nothing comes by";
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EffectPrograms, testing::Range<uint64_t>(0, 12));

}  // namespace
}  // namespace neap::conformance
