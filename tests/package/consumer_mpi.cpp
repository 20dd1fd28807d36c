// A user's program for two processes.
#include <neap/mpi.h>
#include <neap/neap.h>

int main(int argc, char** argv) {
  return neap::mpi::run(argc, argv, [] {
    const neap::Mesh mesh = neap::mpi::mesh({{"x", -1}});
    const auto total = neap::shard([](const neap::Array& block) { return neap::psum(neap::sum(block), "x"); },
                                   {.mesh = mesh, .in = {{"x"}}, .out = {{}}});
    return total(mesh.local(neap::arange(8.0f), {"x"})).item<float>() == 28 ? 0 : 1;
  });
}
