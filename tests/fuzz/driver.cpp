/// Runs a fuzz target without a fuzzer's runtime: first on each file of a corpus, then on a number of mutations of
/// these files, which come from a seed: each run tries the same on every machine. A finding is written to a file, which
/// reproduces it as a corpus.
///
/// usage: TARGET CORPUS [MUTATIONS [SEED]]     CORPUS is a directory, or one file
///
/// The targets have the interface of libFuzzer, so `clang++ -fsanitize=fuzzer` drives them as well, with coverage.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using sample = std::vector<std::uint8_t>;

// A signal handler takes no argument: what is being tried lies here.
sample current;
std::string finding_file;

void save_finding() {
  std::FILE* const out = std::fopen(finding_file.c_str(), "wb");
  if (out == nullptr) return;
  std::fwrite(current.data(), 1, current.size(), out);
  std::fclose(out);
  std::fprintf(stderr, "fuzz: the input of %zu bytes that fails is in %s\n", current.size(), finding_file.c_str());
}

void on_abort(int) {
  save_finding();
  std::_Exit(1);
}

void try_one(const sample& what) {
  current = what;
  // A copy of exactly its size, so that the sanitizer detects a read beyond its end.
  const auto exact = std::make_unique<std::uint8_t[]>(what.size());
  std::copy(what.begin(), what.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), what.size());
}

std::vector<sample> corpus_of(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& each : std::filesystem::directory_iterator(path)) files.push_back(each.path());
  } else {
    files.push_back(path);
  }
  std::ranges::sort(files);
  std::vector<sample> found;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    found.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return found;
}

/// Words and numbers at which readers of text decide, and at which numbers overflow.
constexpr std::string_view words[] = {"0",
                                      "1",
                                      "2",
                                      "-1",
                                      "65535",
                                      "2147483647",
                                      "2147483648",
                                      "4294967294",
                                      "4294967295",
                                      "4294967296",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "1e308",
                                      "1e-400",
                                      "nan",
                                      "inf",
                                      "0x10",
                                      "1.5",
                                      " ",
                                      "\n",
                                      "\t",
                                      "\r\n",
                                      "%",
                                      "#",
                                      ",",
                                      "c",
                                      "p sp 3 4\n",
                                      "a 1 2 3\n",
                                      "|",
                                      "@",
                                      "%%MatrixMarket matrix coordinate real general\n",
                                      "%%MatrixMarket matrix coordinate pattern symmetric\n",
                                      "3 3 4\n",
                                      "5 6 011\n",
                                      "10 ",
                                      "\x1f\x8b\x08",
                                      std::string_view("\0", 1)};
constexpr std::uint64_t numbers[] = {0,
                                     1,
                                     2,
                                     0x7f,
                                     0x80,
                                     0xff,
                                     0x7fff,
                                     0x8000,
                                     0xffff,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0x7fffffffffffffff,
                                     0x8000000000000000,
                                     0xffffffffffffffff};

class mutator {
 public:
  mutator(const std::vector<sample>& corpus, std::uint64_t seed) : corpus_(corpus), random_(seed) {}

  sample next() {
    sample made = any();
    const std::uint64_t changes = std::uint64_t{1} << random_.below(5);
    for (std::uint64_t i = 0; i < changes; ++i) change(made);
    if (made.size() > bytes_max) made.resize(bytes_max);
    return made;
  }

 private:
  static constexpr std::size_t bytes_max = 64 << 10;

  const sample& any() { return corpus_[random_.below(corpus_.size())]; }
  std::size_t place_in(const sample& in) { return random_.below(in.size() + 1); }

  template <class Bytes>
  void insert(sample& into, std::size_t at, const Bytes& what) {
    into.insert(into.begin() + static_cast<std::ptrdiff_t>(at), what.begin(), what.end());
  }
  /// A range of up to 64 bytes.
  sample part_of(const sample& from) {
    const std::size_t begin = place_in(from);
    const std::size_t bytes = std::min<std::size_t>(from.size() - begin, 1 + random_.below(64));
    return {from.begin() + static_cast<std::ptrdiff_t>(begin),
            from.begin() + static_cast<std::ptrdiff_t>(begin + bytes)};
  }

  void change(sample& in) {
    const std::size_t at = place_in(in);
    switch (random_.below(9)) {
      case 0:
        if (at < in.size()) in[at] = static_cast<std::uint8_t>(in[at] ^ (1u << random_.below(8)));
        return;
      case 1:
        if (at < in.size()) in[at] = static_cast<std::uint8_t>(random_.below(256));
        return;
      case 2:
        in.erase(in.begin() + static_cast<std::ptrdiff_t>(at),
                 in.begin() + static_cast<std::ptrdiff_t>(std::min(in.size(), at + 1 + random_.below(16))));
        return;
      case 3:
        return insert(in, at, part_of(any()));
      case 4:
        return insert(in, at, words[random_.below(std::size(words))]);
      case 5: {  // a word in place of a word
        const auto begin = in.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end = std::find_if(begin, in.end(), [](std::uint8_t each) { return each <= ' '; });
        in.erase(begin, end);
        return insert(in, at, words[random_.below(std::size(words))]);
      }
      case 6: {
        const std::uint64_t number = numbers[random_.below(std::size(numbers))];
        const std::size_t bytes = std::size_t{1} << random_.below(4);
        if (in.size() >= at + bytes) std::memcpy(in.data() + at, &number, bytes);
        return;
      }
      case 7:
        in.resize(at);
        return;
      default: {  // the same again, many times
        const sample again = part_of(in);
        for (std::uint64_t times = random_.below(40); times > 0; --times) insert(in, std::min(at, in.size()), again);
      }
    }
  }

  const std::vector<sample>& corpus_;
  amity::splitmix64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS [MUTATIONS [SEED]]\n", argv[0]);
    return 2;
  }
  finding_file = std::filesystem::path(argv[0]).filename().string() + "_finding";
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(save_finding);
  for (const int signal : {SIGABRT, SIGFPE, SIGILL}) std::signal(signal, on_abort);
  const std::vector<sample> corpus = corpus_of(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "fuzz: no file in %s\n", argv[1]);
    return 2;
  }
  for (const sample& each : corpus) try_one(each);
  const std::uint64_t mutations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  mutator inputs(corpus, argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  for (std::uint64_t tried = 0; tried < mutations; ++tried) try_one(inputs.next());
  std::printf("fuzz: %zu files and %llu mutations, no finding\n", corpus.size(),
              static_cast<unsigned long long>(mutations));
  return 0;
}
