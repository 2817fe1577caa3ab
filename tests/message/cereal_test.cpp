/// Types of cereal's as messages.

#include "amity/message/cereal.hpp"

#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/worlds.hpp"

namespace amity {
namespace {

struct shape {
  virtual ~shape() = default;
  virtual double area() const = 0;
  template <class Archive>
  void serialize(Archive&) {}
};
struct square final : shape {
  double side = 0;
  double area() const override { return side * side; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(side);
  }
};

struct article {
  std::string title;
  std::vector<int> pages;
  std::map<std::string, std::vector<std::string>> index;
  std::unique_ptr<article> appendix;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(title), pages, index, appendix);
  }
  bool operator==(const article& other) const {
    const bool same = title == other.title && pages == other.pages && index == other.index;
    if (!same || !appendix || !other.appendix) return same && !appendix == !other.appendix;
    return *appendix == *other.appendix;
  }
};

struct drawing {
  std::vector<std::shared_ptr<shape>> shapes;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(shapes);
  }
};

}  // namespace
}  // namespace amity

CEREAL_REGISTER_TYPE_WITH_NAME(amity::square, "square")
CEREAL_REGISTER_POLYMORPHIC_RELATION(amity::shape, amity::square)

template <>
struct amity::codec<amity::article> : amity::cereal_codec<amity::article> {};
template <>
struct amity::codec<amity::drawing> : amity::cereal_codec<amity::drawing> {};

namespace amity {
namespace {

article sample(int pages) {
  article result{.title = "Active messages", .pages = {}, .index = {}, .appendix = std::make_unique<article>()};
  for (int page = 0; page < pages; ++page) {
    result.pages.push_back(page);
    result.index[std::to_string(page)] = {"a", std::string(static_cast<std::size_t>(page), 'b')};
  }
  result.appendix->title = "Proofs";
  return result;
}

template <class T>
std::vector<std::byte> encoded(const T& value) {
  std::vector<std::byte> bytes(encoded_bytes(value));
  byte_writer to(bytes);
  encode(to, value);
  to.finish();
  return bytes;
}

TEST(cereal_codec, says_the_size_that_it_writes) {
  for (const int pages : {0, 1, 50}) {
    const article value = sample(pages);
    const auto bytes = encoded(value);
    byte_reader from(bytes);
    EXPECT_EQ(decode<article>(from), value);
    from.finish();
  }
}

TEST(cereal_codec, keeps_polymorphic_and_shared_objects) {
  const auto one = std::make_shared<square>();
  one->side = 3;
  const auto bytes = encoded(drawing{{one, one}});
  byte_reader from(bytes);
  const auto value = decode<drawing>(from);
  ASSERT_EQ(value.shapes.size(), 2u);
  EXPECT_EQ(value.shapes[0]->area(), 9);
  EXPECT_EQ(value.shapes[0], value.shapes[1]);
}

TEST(cereal_codec, refuses_truncated_bytes) {
  auto bytes = encoded(sample(3));
  for (bytes.pop_back(); !bytes.empty(); bytes.resize(bytes.size() / 2)) {
    byte_reader from(bytes);
    EXPECT_THROW(decode<article>(from), error);
  }
}

class cereal_messages : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, cereal_messages, testing::every_job(), testing::job_name);

TEST_P(cereal_messages, arrive_as_they_were_sent) {
  run([](world& w) {
    int handled = 0;
    const auto check = [&](const article& value) {
      EXPECT_EQ(value, sample(static_cast<int>(value.pages.size())));
      ++handled;
    };
    auto alone = w.message<article>(check);
    auto together = w.message<article>(check, coalesce{});
    w.epoch([&] {
      for (const int pages : {0, 3, 40}) {
        alone.send((w.rank() + 1) % w.size(), sample(pages));
        together.send((w.rank() + 1) % w.size(), sample(pages));
      }
    });
    EXPECT_EQ(handled, 6);
  });
}

}  // namespace
}  // namespace amity
