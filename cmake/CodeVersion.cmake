# cmake -DFOLDER=... -DOUTPUT=... -P CodeVersion.cmake: a source with code_version() (backends/cpu/code_cache.h), a hash of
# all sources that have a say in the code of kernels.
file(GLOB_RECURSE sources RELATIVE ${FOLDER} ${FOLDER}/backends/cpu/*.h ${FOLDER}/backends/cpu/*.cpp ${FOLDER}/trace/*.h
     ${FOLDER}/trace/*.cpp)
file(GLOB kernels RELATIVE ${FOLDER} ${FOLDER}/backends/*.h ${FOLDER}/backends/*.cpp)
list(APPEND sources ${kernels})
list(SORT sources)
set(hashes "")
foreach(source ${sources})
  file(SHA256 ${FOLDER}/${source} hash)
  string(APPEND hashes "${source} ${hash}\n")
endforeach()
string(SHA256 version "${hashes}")
file(WRITE ${OUTPUT} "#include \"backends/cpu/code_cache.h\"\n
namespace neap::cpu {
std::string_view code_version() { return \"${version}\"; }
}  // namespace neap::cpu\n")
