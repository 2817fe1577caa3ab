#include "amity/fabric/mpi/library.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/launcher_sign.hpp"
#include "amity/fabric/mpi/mpi.hpp"

namespace amity::fabric::mpi {
namespace {

using version_function = decltype(amity_mpi_module::library_version);

std::string version_of(version_function function) {
  std::string text(AMITY_MPI_VERSION_BYTES, '\0');
  int length = 0;
  function(text.data(), &length);
  return short_version(std::string_view(text).substr(0, static_cast<std::size_t>(length)));
}

version_function find_version_function(void* object) {
  return reinterpret_cast<version_function>(::dlsym(object, "MPI_Get_library_version"));
}

/// Whether a file may be the library of an MPI: libmpi.so.40, libmpich.so.12, libmpi_gnu_123.so.
bool may_be_mpi(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libmpi") && file.find(".so") != std::string_view::npos;
}

/// Returns the MPI that this process has loaded; null if it has loaded none. The MPI may be visible to all libraries,
/// or only to the one that has loaded it, as in an interpreter. Several MPIs that are not visible, as modules load them
/// to ask for their versions, count as none.
version_function find_loaded_mpi() {
  if (const auto visible = find_version_function(RTLD_DEFAULT)) return visible;
  // The loader must not be called during the iteration: another thread that loads a library would wait for it.
  std::vector<std::string> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        if (may_be_mpi(info->dlpi_name)) static_cast<std::vector<std::string>*>(found)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  version_function found = nullptr;
  for (const std::string& path : paths) {
    void* const object = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) continue;
    const auto function = find_version_function(object);
    ::dlclose(object);  // it stays loaded, as it was
    if (function == nullptr || function == found) continue;
    if (found != nullptr) return nullptr;
    found = function;
  }
  return found;
}

std::string version_if_loaded(version_function loaded) {
  return loaded == nullptr ? std::string() : version_of(loaded);
}

std::string_view name_of_level(int level) {
  switch (level) {
    case amity_mpi_thread_single:
      return "MPI_THREAD_SINGLE";
    case amity_mpi_thread_funneled:
      return "MPI_THREAD_FUNNELED";
    case amity_mpi_thread_serialized:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

void check_level(const amity_mpi_module& mpi, rank_t threads, bool initialized_here) {
  const int provided = mpi.thread_level();
  if (threads > 1 && provided < amity_mpi_thread_multiple) {
    throw error("AMITY_FABRIC=mpi", no_rank,
                fmt::format("MPI runs with {}, but {} threads per rank need MPI_THREAD_MULTIPLE",
                            name_of_level(provided), threads),
                fmt::format("{}, or set AMITY_THREADS=1 and AMITY_PROGRESS_THREAD=0",
                            initialized_here ? "use an MPI that is built for threads"
                                             : "initialize MPI with MPI_Init_thread and MPI_THREAD_MULTIPLE"));
  }
  if (!mpi.is_main_thread() && provided < amity_mpi_thread_serialized) {
    throw error("AMITY_FABRIC=mpi", no_rank,
                fmt::format("MPI runs with {}, but a thread other than MPI's main thread needs MPI_THREAD_SERIALIZED",
                            name_of_level(provided)),
                "initialize MPI with MPI_Init_thread and MPI_THREAD_SERIALIZED, or call amity on the main thread");
  }
}

}  // namespace

std::optional<library> library::open(family which, std::string& why_not) {
  // The loader searches the run path of the object that amity is a part of: the program, or amity's shared library.
  const std::string file = fmt::format("amity_mpi_{}.so", setting_of(which));
  void* const object = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (object == nullptr) {
    why_not = ::dlerror();
    return std::nullopt;
  }
  using get_module = decltype(&::amity_mpi_get_module);
  const auto get = reinterpret_cast<get_module>(::dlsym(object, AMITY_MPI_GET_MODULE));
  const amity_mpi_module* const module = get == nullptr ? nullptr : get();
  if (module == nullptr || module->version != AMITY_MPI_MODULE_VERSION) {
    why_not = fmt::format("{} belongs to another version of amity", file);
    return std::nullopt;
  }
  return library(module);
}

std::variant<library, refusal> library::load(const choice& made, version_function programs_mpi) {
  std::string why_not;
  auto loaded = open(made.which, why_not);
  if (!loaded) {
    return refusal{.problem = fmt::format("{}, but its module cannot be loaded: {}", made.reason, why_not),
                   .remedy = fmt::format("build amity where the compiler wrapper of {} is found, or add the directory "
                                         "of amity_mpi_{}.so to LD_LIBRARY_PATH",
                                         name_of(made.which), setting_of(made.which))};
  }
  if (programs_mpi != nullptr && programs_mpi != (*loaded)->library_version) {
    return refusal{.problem = fmt::format("the program uses {}, but the module for {} uses another library ({})",
                                          version_of(programs_mpi), name_of(made.which), loaded->version()),
                   .remedy = "build amity with the compiler wrapper of the program's MPI"};
  }
  loaded->reason_ = made.reason;
  loaded->warning_ = made.warning;
  return *std::move(loaded);
}

std::variant<library, refusal> library::find(const settings& config) {
  const auto loaded = find_loaded_mpi();
  const auto found = evidence::of(config, version_if_loaded(loaded));
  if (const auto made = choose(found)) return load(*made, loaded);
  if (!found.loaded.empty()) {
    return refusal{.problem = fmt::format(
                       "this process has loaded {}, but there are modules for Open MPI and MPICH only", found.loaded),
                   .remedy = "link the program with one of these, or use another fabric"};
  }
  std::string why_not;
  std::vector<library> modules = all(why_not);
  if (modules.empty()) {
    return refusal{.problem = fmt::format("no module for an MPI can be loaded: {}", why_not),
                   .remedy = "install an MPI and its compiler wrapper, and build amity with -DAMITY_MPI=ON"};
  }
  if (modules.size() > 1) {
    return refusal{.problem = fmt::format("there are modules for {} and {}, and the MPI of this process is not known",
                                          modules[0].version(), modules[1].version()),
                   .remedy =
                       "link the program with its MPI, start it with the mpirun or mpiexec of the MPI, or set "
                       "AMITY_MPI_LIBRARY=openmpi or AMITY_MPI_LIBRARY=mpich"};
  }
  modules.front().reason_ = "there is no module for another MPI";
  return std::move(modules.front());
}

namespace {

library or_throw(std::string_view call, std::variant<library, refusal> found) {
  if (auto* const loaded = std::get_if<library>(&found)) return std::move(*loaded);
  const auto& why = std::get<refusal>(found);
  throw error(call, no_rank, why.problem, why.remedy);
}

}  // namespace

library library::of_process(const settings& config) { return or_throw("AMITY_FABRIC=mpi", find(config)); }

library library::of_program(family compiled_with, const settings& config) {
  const auto loaded = find_loaded_mpi();
  if (loaded == nullptr) {
    throw error("amity::mpi::run", no_rank,
                fmt::format("the {} of the program is not found in this process", name_of(compiled_with)),
                "link the program with the shared library of its MPI");
  }
  const auto made = choose(evidence::of(config, version_of(loaded)));
  if (!made || made->which != compiled_with) {
    throw error("amity::mpi::run", no_rank,
                fmt::format("the program is compiled with {}, but this process has loaded {}", name_of(compiled_with),
                            version_of(loaded)),
                "compile and link the program with the wrapper of one MPI");
  }
  return or_throw("amity::mpi::run", load(*made, loaded));
}

std::vector<library> library::all(std::string& why_not) {
  std::vector<library> found;
  std::vector<std::string> reasons;
  for (const family which : {family::open_mpi, family::mpich}) {
    std::string reason;
    if (auto loaded = open(which, reason)) {
      found.push_back(*std::move(loaded));
    } else {
      reasons.push_back(std::move(reason));
    }
  }
  why_not = fmt::format("{}", fmt::join(reasons, "; "));
  return found;
}

std::string library::version() const { return version_of(module_->library_version); }

library_use::library_use(library mpi, rank_t threads) : mpi_(std::move(mpi)) {
  if (mpi_->finalized()) {
    throw error("AMITY_FABRIC=mpi", no_rank, "MPI has been finalized in this process, and cannot be initialized again",
                "call amity::run once, or initialize MPI before the first call and finalize it after the last one");
  }
  if (!mpi_->initialized()) {
    mpi_->init(threads > 1 ? amity_mpi_thread_multiple : amity_mpi_thread_single);
    initialized_here_ = true;
  }
  try {
    check_level(*mpi_, threads, initialized_here_);
  } catch (...) {
    if (initialized_here_) mpi_->finalize();
    throw;
  }
}

library_use::~library_use() {
  if (initialized_here_ && !mpi_->finalized()) mpi_->finalize();
}

void check_launcher(const library& mpi) {
  if (mpi->size(mpi->world) > 1) return;
  const auto sign = find_launcher_sign();
  if (!sign) return;
  throw error("AMITY_FABRIC=mpi", no_rank,
              fmt::format("{} has started {} processes, but {} sees one process only", sign->launcher, sign->processes,
                          mpi.version()),
              sign->is_srun
                  ? "choose what this MPI speaks with srun --mpi=... (srun --mpi=list), or set AMITY_MPI_LIBRARY"
                  : "start the program with the mpirun or mpiexec of this MPI");
}

bool is_inside_mpi() {
  std::array<void*, 256> frames;
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  return std::any_of(frames.begin(), frames.begin() + count, [](const void* frame) {
    Dl_info object{};
    return ::dladdr(frame, &object) != 0 && object.dli_fname != nullptr && may_be_mpi(object.dli_fname);
  });
}

}  // namespace amity::fabric::mpi
