#include "amity/world/bootstrap/pmix.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/world/bootstrap/hex.hpp"

namespace amity::detail {
namespace {

// The part of the standard's binary interface that is used here.

struct process {
  char job[256];
  std::uint32_t rank;
};

struct value {
  std::uint16_t type;
  union {
    char* text;
    std::uint32_t number;
    bool flag;
    std::byte whole[24];
  } data;
};

struct option {
  char key[512];
  std::uint32_t flags;
  value setting;
};
static_assert(sizeof(process) == 260 && sizeof(value) == 32 && sizeof(option) == 552);

constexpr std::uint16_t is_bool = 1;
constexpr std::uint16_t is_text = 3;
constexpr std::uint8_t for_all = 3;
constexpr std::uint32_t any_rank = 0xfffffffe;

/// The library's functions.
struct client {
  explicit client(void* from) : library(from) {}

  void* library;  ///< first: the others are found in it
  int (*init)(process*, option*, std::size_t) = find<decltype(init)>("PMIx_Init");
  int (*finalize)(const option*, std::size_t) = find<decltype(finalize)>("PMIx_Finalize");
  int (*put)(std::uint8_t, const char*, value*) = find<decltype(put)>("PMIx_Put");
  int (*commit)() = find<decltype(commit)>("PMIx_Commit");
  int (*fence)(const process*, std::size_t, const option*, std::size_t) = find<decltype(fence)>("PMIx_Fence");
  int (*get)(const process*, const char*, const option*, std::size_t, value**) = find<decltype(get)>("PMIx_Get");
  const char* (*text_of)(int) = find<decltype(text_of)>("PMIx_Error_string");

 private:
  template <class Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(::dlsym(library, name));
  }
};

[[noreturn]] void cannot_join_by_pmix(const std::string& problem) {
  throw error("joining the job", no_rank,
              fmt::format("a process manager with PMIx has started this process, but {}", problem),
              "install its client library (libpmix2) on every host, or start the program by `amity run -n N`");
}

void* load() {
  // Never unloaded: it has threads.
  for (const char* const name : {"libpmix.so.2", "libpmix.so"}) {
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return library;
  }
  cannot_join_by_pmix(fmt::format("libpmix.so.2 cannot be loaded: {}", ::dlerror()));
}

class pmix final : public fabric::bootstrap, private immovable {
 public:
  pmix() : bootstrap(::getppid()), client_(load()) {
    if (client_.init == nullptr || client_.get == nullptr || client_.fence == nullptr || client_.put == nullptr ||
        client_.commit == nullptr || client_.finalize == nullptr || client_.text_of == nullptr) {
      cannot_join_by_pmix("libpmix.so.2 is no client library of PMIx");
    }
    check(client_.init(&self_, nullptr, 0), "refuses the process");
    process all = self_;
    all.rank = any_rank;
    value* answer = nullptr;
    check(client_.get(&all, "pmix.job.size", nullptr, 0, &answer), "does not tell the number of ranks");
    size_ = static_cast<rank_t>(answer->data.number);
    std::free(answer);
  }
  ~pmix() override {
    // A process that ends without this has failed.
    if (!aborted_here() && std::uncaught_exceptions() == 0) client_.finalize(nullptr, 0);
  }

  rank_t rank() const noexcept override { return static_cast<rank_t>(self_.rank); }
  rank_t size() const noexcept override { return size_; }

  std::vector<std::string> all_gather(std::string_view mine) override {
    const std::string key = fmt::format("amity.{}", round_++);
    std::string text = to_hex(mine);
    value given{};
    given.type = is_text;
    given.data.text = text.data();
    check(client_.put(for_all, key.c_str(), &given), "takes no value");
    check(client_.commit(), "takes no value");
    option collect{};
    std::strcpy(collect.key, "pmix.collect");
    collect.setting.type = is_bool;
    collect.setting.data.flag = true;
    check(client_.fence(nullptr, 0, &collect, 1), "does not bring the ranks together");
    std::vector<std::string> all;
    for (rank_t other = 0; other < size_; ++other) all.push_back(read(other, key));
    return all;
  }

 private:
  std::string read(rank_t other, const std::string& key) {
    process theirs = self_;
    theirs.rank = static_cast<std::uint32_t>(other);
    value* answer = nullptr;
    check(client_.get(&theirs, key.c_str(), nullptr, 0, &answer),
          fmt::format("does not tell what rank {} has given", other));
    std::string bytes;
    const bool readable = answer->type == is_text && answer->data.text != nullptr && from_hex(answer->data.text, bytes);
    if (answer->type == is_text) std::free(answer->data.text);
    std::free(answer);
    if (!readable) cannot_join_by_pmix(fmt::format("what rank {} has given is no value of amity's", other));
    return bytes;
  }

  void check(int status, std::string_view complaint) const {
    if (status != 0) cannot_join_by_pmix(fmt::format("it {}: {}", complaint, client_.text_of(status)));
  }

  client client_;
  process self_{};
  rank_t size_ = 0;
  int round_ = 0;
};

}  // namespace

bool pmix_is_there() { return std::getenv("PMIX_NAMESPACE") != nullptr && std::getenv("PMIX_RANK") != nullptr; }

std::unique_ptr<fabric::bootstrap> pmix_bootstrap() { return std::make_unique<pmix>(); }

}  // namespace amity::detail
