/// Remote memory over a provider that accepts registered local memory only. No provider of a single machine is one, so
/// a layer between amity and the provider requires it: each operation must name a registration that contains its
/// memory.

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/fabric/ofi/library.hpp"
#include "amity/fabric/ofi/local_memory.hpp"
#include "amity/fabric/ofi/port.hpp"
#include "amity/fabric/ofi/provider.hpp"
#include "amity/fabric/ofi/remote.hpp"
#include "amity/fabric/ofi/sodium.hpp"
#include "payloads.hpp"
#include "tests/support/skip.hpp"

namespace amity::fabric::ofi {
namespace {

using testing::is_payload;
using testing::make_payload;
using bytes = std::vector<std::byte>;

constexpr std::size_t bounce = local_memory::bounce_bytes;

/// The number of the file that is mapped at `address`; 0 if it is no file's memory. Stands for the pages that an
/// adapter has been given.
std::uint64_t file_at(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    unsigned long file = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx %*s %*s %*s %lu", &begin, &end, &file) != 3) continue;
    if (wanted >= begin && wanted < end) return file;
  }
  return 0;
}

/// Between a port and its provider. Fails the test for each operation whose memory is not registered under the
/// descriptor that comes with it, or was mapped again since.
class strict_provider {
 public:
  explicit strict_provider(port& over) {
    current = this;
    of_registrations_.size = sizeof of_registrations_;
    of_registrations_.close = &close;
    mr_ = *over.domain()->mr;
    mr_.reg = &reg;
    under_mr_ = std::exchange(over.domain()->mr, &mr_);
    rma_ = *over.endpoint()->rma;
    rma_.writemsg = &writemsg;
    rma_.read = &read;
    under_rma_ = std::exchange(over.endpoint()->rma, &rma_);
    if (over.endpoint()->atomic == nullptr) return;
    atomic_ = *over.endpoint()->atomic;
    atomic_.readwrite = &readwrite;
    atomic_.compwrite = &compwrite;
    under_atomic_ = std::exchange(over.endpoint()->atomic, &atomic_);
  }
  strict_provider(const strict_provider&) = delete;
  strict_provider& operator=(const strict_provider&) = delete;
  ~strict_provider() {
    EXPECT_TRUE(registrations_.empty());
    current = nullptr;
  }

  /// Returns 0, or the error number of a registration of this memory.
  std::function<int(mutable_bytes)> refuses = [](mutable_bytes) { return 0; };
  bool has_one_key = false;  ///< for all registrations, as a cache gives for those that one of its entries contains
  bool is_full = false;      ///< takes no operation
  std::size_t made = 0;      ///< registrations, until now

  /// The provider no longer uses the memory of an operation.
  void ended(const void* context) {
    std::erase_if(uses_, [&](const use& each) { return each.context == context; });
  }

  std::size_t open() const { return registrations_.size(); }
  /// Whether a registration contains a byte of the memory.
  bool registers(bytes_view memory) const {
    return std::ranges::any_of(registrations_, [&](const registration& each) {
      const std::byte* const begin = each.memory.data();
      return begin < memory.data() + memory.size() && memory.data() < begin + each.memory.size();
    });
  }
  std::size_t open_bytes() const {
    std::size_t sum = 0;
    for (const registration& each : registrations_) sum += each.memory.size();
    return sum;
  }

 private:
  struct registration {
    fid_mr shown{};
    fid_mr* under = nullptr;
    mutable_bytes memory;
    std::uint64_t access = 0;
    std::uint64_t file = 0;
  };
  struct use {
    const void* context;
    const registration* by;
  };

  static int reg(fid* domain, const void* buffer, std::size_t length, std::uint64_t access, std::uint64_t offset,
                 std::uint64_t key, std::uint64_t flags, fid_mr** made, void* context) {
    strict_provider& self = *current;
    const mutable_bytes memory{static_cast<std::byte*>(const_cast<void*>(buffer)), length};
    if (const int status = self.refuses(memory); status != 0) return status;
    fid_mr* under = nullptr;
    const int status = self.under_mr_->reg(domain, buffer, length, access, offset, key, flags, &under, context);
    if (status != 0) return status;
    registration& added = self.registrations_.emplace_back();
    added.under = under;
    added.memory = memory;
    added.access = access;
    added.file = file_at(buffer);
    added.shown = *under;
    added.shown.fid.ops = &self.of_registrations_;
    added.shown.mem_desc = &added;
    if (self.has_one_key) added.shown.key = 7;
    *made = &added.shown;
    ++self.made;
    return 0;
  }

  static int close(fid* closed) {
    strict_provider& self = *current;
    const auto found =
        std::ranges::find_if(self.registrations_, [&](const registration& each) { return &each.shown.fid == closed; });
    EXPECT_NE(found, self.registrations_.end());
    EXPECT_TRUE(std::ranges::none_of(self.uses_, [&](const use& each) { return each.by == &*found; }))
        << "an operation still uses the memory";
    const int status = fi_close(&found->under->fid);
    self.registrations_.erase(found);
    return status;
  }

  /// What the provider knows the descriptor as.
  static void* under(const void* data, std::size_t length, const void* descriptor, std::uint64_t access,
                     const void* context) {
    strict_provider& self = *current;
    const auto found =
        std::ranges::find_if(self.registrations_, [&](const registration& each) { return &each == descriptor; });
    if (found == self.registrations_.end()) {
      ADD_FAILURE() << length << " bytes have no descriptor of a registration";
      return nullptr;
    }
    const auto* const begin = static_cast<const std::byte*>(data);
    EXPECT_GE(begin, found->memory.data());
    EXPECT_LE(begin + length, found->memory.data() + found->memory.size());
    EXPECT_EQ(found->access & access, access);
    EXPECT_EQ(file_at(data), found->file) << "the memory was mapped again after its registration";
    self.uses_.push_back({context, &*found});
    return fi_mr_desc(found->under);
  }
  static ssize_t passed(ssize_t status, const void* context) {
    if (status != 0) current->ended(context);
    return status;
  }

  static ssize_t writemsg(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
    if (current->is_full) return -FI_EAGAIN;
    fi_msg_rma given = *message;
    void* descriptor = under(message->msg_iov->iov_base, message->msg_iov->iov_len,
                             message->desc != nullptr ? message->desc[0] : nullptr, FI_WRITE, message->context);
    given.desc = &descriptor;
    return passed(current->under_rma_->writemsg(endpoint, &given, flags), message->context);
  }
  static ssize_t read(fid_ep* endpoint, void* buffer, std::size_t length, void* descriptor, fi_addr_t source,
                      std::uint64_t place, std::uint64_t key, void* context) {
    if (current->is_full) return -FI_EAGAIN;
    return passed(
        current->under_rma_->read(endpoint, buffer, length, under(buffer, length, descriptor, FI_READ, context), source,
                                  place, key, context),
        context);
  }
  static std::size_t word_bytes(fi_datatype type) { return type == FI_UINT64 ? 8 : 4; }
  static ssize_t readwrite(fid_ep* endpoint, const void* operand, std::size_t count, void* descriptor, void* result,
                           void* of_result, fi_addr_t dest, std::uint64_t place, std::uint64_t key, fi_datatype type,
                           fi_op op, void* context) {
    const std::size_t length = word_bytes(type);
    return passed(current->under_atomic_->readwrite(
                      endpoint, operand, count, under(operand, length, descriptor, FI_WRITE, context), result,
                      under(result, length, of_result, FI_READ, context), dest, place, key, type, op, context),
                  context);
  }
  static ssize_t compwrite(fid_ep* endpoint, const void* operand, std::size_t count, void* descriptor,
                           const void* expected, void* of_expected, void* result, void* of_result, fi_addr_t dest,
                           std::uint64_t place, std::uint64_t key, fi_datatype type, fi_op op, void* context) {
    const std::size_t length = word_bytes(type);
    return passed(current->under_atomic_->compwrite(
                      endpoint, operand, count, under(operand, length, descriptor, FI_WRITE, context), expected,
                      under(expected, length, of_expected, FI_WRITE, context), result,
                      under(result, length, of_result, FI_READ, context), dest, place, key, type, op, context),
                  context);
  }

  static inline strict_provider* current = nullptr;  // functions of the tables have no other way to it

  std::list<registration> registrations_;
  std::vector<use> uses_;
  fi_ops of_registrations_{};
  fi_ops_mr mr_{};
  fi_ops_rma rma_{};
  fi_ops_atomic atomic_{};
  fi_ops_mr* under_mr_ = nullptr;
  fi_ops_rma* under_rma_ = nullptr;
  fi_ops_atomic* under_atomic_ = nullptr;
};

/// What libfabric and the ranks have in common.
struct libraries {
  libraries() {
    std::string why;
    EXPECT_TRUE(fabrics.load(why)) << why;
    EXPECT_TRUE(crypto.load(why)) << why;
  }
  library fabrics;
  sodium crypto;
};

/// One of two ranks in this process.
struct end {
  end(const libraries& with, const std::string& provider, rank_t rank, bool register_local)
      : opened(with.fabrics, found(with, provider, register_local), 1024, rank) {}
  static info_ptr found(const libraries& with, const std::string& provider, bool register_local) {
    std::string why;
    info_ptr info = find_provider(
        with.fabrics,
        {.provider = provider, .address = "", .one_node = true, .remote = true, .register_local = register_local}, why);
    EXPECT_TRUE(info) << why;
    return info;
  }
  port opened;
  std::vector<fi_addr_t> addresses;
  loss lost;
};

/// An origin whose provider is strict, and the owner of the memory that it uses, on one thread.
class remote_pair : public ::testing::TestWithParam<std::string>, private sink {
 protected:
  static constexpr std::size_t segment_bytes = std::size_t{2} << 20;

  void SetUp() override {
    origin_.emplace(with_, GetParam(), 0, true);
    owner_.emplace(with_, GetParam(), 1, false);
    const std::vector<std::string> addresses{origin_->opened.address(), owner_->opened.address()};
    provider_.emplace(origin_->opened);
    origin_->addresses = origin_->opened.insert(addresses);
    owner_->addresses = owner_->opened.insert(addresses);
    at_owner_.emplace(owner_->opened, with_.crypto, key_, 1, owner_->addresses, owner_->lost);
    at_origin_.emplace(origin_->opened, with_.crypto, key_, 0, origin_->addresses, origin_->lost);
    owned_ = at_owner_->create(segment_bytes);
    there_ = at_origin_->open(1, owned_.key);
    // A provider refuses operations until it has connected.
    constexpr std::byte zero{0};
    start_put(0, {&zero, 1});
    finish();
    refusals_ = 0;
  }
  void TearDown() override {
    finish();
    at_origin_->close(there_);
    at_owner_->destroy(owned_);
    origin_->opened.close();
    owner_->opened.close();
    at_origin_.reset();
    at_owner_.reset();
    provider_.reset();
  }

  remote& origin() { return *at_origin_; }
  strict_provider& provider() { return *provider_; }
  const remote_handle& there() const { return there_; }
  mutable_bytes owned() const { return {owned_.data, owned_.bytes}; }
  const loss& lost() const { return origin_->lost; }
  std::multiset<std::uint32_t>& notified() { return notified_; }

  /// Progress of both ranks.
  void poll() {
    poll(*origin_, *at_origin_);
    poll(*owner_, *at_owner_);
  }
  template <class Done>
  void until(Done&& done) {
    while (!done()) poll();
  }
  void finish() {
    until([&] { return awaited_.empty() && at_origin_->is_idle(); });
  }

  /// Starts an operation, again if it was refused.
  template <class Operation>
  stage start(Operation&& operation) {
    stage reached = stage::refused;
    while ((reached = operation()) == stage::refused) {
      ++refusals_;
      poll();
    }
    return reached;
  }
  void start_put(std::size_t offset, bytes_view from) {
    const std::uint64_t context = ++contexts_;
    reached_ = start([&] { return origin().put(there_, offset, from, {.complete = context}); });
    if (reached_ != stage::complete) awaited_.insert(context);
  }
  void start_get(std::size_t offset, mutable_bytes to) {
    const std::uint64_t context = ++contexts_;
    if (start([&] { return origin().get(there_, offset, to, context); }) != stage::complete) awaited_.insert(context);
  }
  std::uint64_t atomic(const atomic_request& what) {
    std::uint64_t previous = 0;
    awaited_.insert(++contexts_);
    const std::uint64_t context = contexts_;
    static_cast<void>(start([&] { return origin().atomic(there_, 8, what, &previous, context); }));
    finish();
    return previous;
  }
  std::size_t refusals() const { return refusals_; }
  /// By the last put, when its call returned.
  stage reached() const { return reached_; }

  /// Puts `from` and gets it back to `to`.
  void put_and_get(bytes_view from, mutable_bytes to) {
    start_put(3, from);
    finish();
    EXPECT_TRUE(std::ranges::equal(owned().subspan(3, from.size()), from)) << from.size() << " bytes";
    start_get(3, to);
    finish();
    EXPECT_TRUE(std::ranges::equal(to, from)) << from.size() << " bytes";
  }

 private:
  disposition on_packet(const packet&) noexcept override { return disposition::release; }
  void on_done(std::uint64_t context) noexcept override {
    EXPECT_EQ(awaited_.erase(context), 1u) << "event " << context << " was not asked for, or comes twice";
  }
  void on_notify(std::uint32_t bits) noexcept override { notified_.insert(bits); }

  void poll(end& of, remote& memory) {
    fi_cq_data_entry done{};
    const ssize_t count = fi_cq_read(of.opened.queue(), &done, 1);
    if (count == 1) provider().ended(done.op_context);
    if (count == 1 && memory.owns(done.op_context)) {
      memory.take_completion(done.op_context);
    } else if (count == 1 && (done.flags & FI_REMOTE_CQ_DATA) != 0) {
      memory.take_notification(done.data);
    } else if (count == -FI_EAVAIL) {
      fi_cq_err_entry failed{};
      ASSERT_EQ(fi_cq_readerr(of.opened.queue(), &failed, 0), 1);
      if (memory.owns(failed.op_context)) memory.take_failure(failed.op_context, failed.err);
    }
    memory.hand_over(*this, 16);
  }

  libraries with_;
  job_key key_;
  std::optional<end> origin_, owner_;
  std::optional<strict_provider> provider_;
  std::optional<remote> at_origin_, at_owner_;
  segment owned_;
  remote_handle there_;
  std::set<std::uint64_t> awaited_;
  std::multiset<std::uint32_t> notified_;
  std::uint64_t contexts_ = 0;
  std::size_t refusals_ = 0;
  stage reached_ = stage::refused;
};

INSTANTIATE_TEST_SUITE_P(net, remote_pair, ::testing::Values("net"), [](const auto&) { return "strict"; });
INSTANTIATE_TEST_SUITE_P(rxm, remote_pair, ::testing::Values("tcp;ofi_rxm"), [](const auto&) { return "strict"; });

TEST_P(remote_pair, short_transfers_use_bounce_buffer) {
  const std::size_t before = provider().made;
  for (const std::size_t size : {std::size_t{1}, std::size_t{8}, bounce - 1, bounce}) {
    bytes back(size);
    put_and_get(make_payload(size, size), back);
  }
  EXPECT_EQ(provider().made, before);
}

TEST_P(remote_pair, short_put_frees_source) {
  bytes source = make_payload(bounce, 1);
  start_put(0, source);
  EXPECT_EQ(reached(), stage::source_free);
  std::ranges::fill(source, std::byte{0xee});
  finish();
  EXPECT_TRUE(is_payload(owned().first(bounce), 1));
}

// The event of the source is not reported as well.
TEST_P(remote_pair, short_put_reports_no_free_source) {
  const bytes source = make_payload(8, 1);
  EXPECT_EQ(start([&] { return origin().put(there(), 0, source, {.source_free = 1'000'000}); }), stage::source_free);
  until([&] { return origin().is_idle(); });
  EXPECT_FALSE(origin().has_events());
}

TEST_P(remote_pair, long_transfers_register_while_under_way) {
  const std::size_t before = provider().open();
  for (const std::size_t size : {bounce + 1, 2 * bounce, std::size_t{100'001}, std::size_t{1} << 20}) {
    const bytes source = make_payload(size + 5, size);
    bytes back(size + 2, std::byte{0x5a});
    start_put(7, bytes_view(source).subspan(5));
    EXPECT_EQ(provider().open(), before + 1);
    finish();
    EXPECT_EQ(provider().open(), before);
    start_get(7, mutable_bytes(back).subspan(1, size));
    EXPECT_EQ(provider().open(), before + 1);
    finish();
    EXPECT_EQ(provider().open(), before);
    EXPECT_TRUE(std::equal(source.begin() + 5, source.end(), back.begin() + 1)) << size << " bytes";
    EXPECT_EQ(back.front(), std::byte{0x5a});
    EXPECT_EQ(back.back(), std::byte{0x5a});
  }
}

// A cache finds the second one in the first.
TEST_P(remote_pair, transfers_of_one_page_register_same_memory) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  AMITY_SKIP_UNLESS(2 * bounce <= 4 * page, "pages of another size");
  const bytes source(8 * page);
  std::vector<mutable_bytes> registered;
  provider().refuses = [&](mutable_bytes memory) {
    registered.push_back(memory);
    return 0;
  };
  const auto begin = reinterpret_cast<std::uintptr_t>(source.data());
  const std::size_t first = (begin + page - 1) / page * page - begin;
  start_put(0, bytes_view(source).subspan(first + 1, 3 * page));
  start_put(0, bytes_view(source).subspan(first + 100, 3 * page + 200));
  finish();
  ASSERT_EQ(registered.size(), 2u);
  EXPECT_EQ(registered[0].data(), source.data() + first);
  EXPECT_EQ(registered[0].size(), 4 * page);
  EXPECT_EQ(registered[1].data(), registered[0].data());
  EXPECT_EQ(registered[1].size(), registered[0].size());
}

TEST_P(remote_pair, segments_are_not_registered_again) {
  const segment mine = origin().create(300'000);
  const std::size_t before = provider().made;
  const auto source = make_payload(100'000, 4);
  std::ranges::copy(source, mine.data + 3);
  put_and_get({mine.data + 3, 100'000}, {mine.data + 150'001, 100'000});
  EXPECT_EQ(provider().made, before);
  // More than the segment.
  provider().refuses = [](mutable_bytes) { return -EFAULT; };
  static_cast<void>(origin().put(there(), 0, {mine.data + 200'001, 100'000}));
  EXPECT_EQ(provider().made, before);
  provider().refuses = [](mutable_bytes) { return 0; };
  // Other memory in the place of the segment.
  origin().destroy(mine);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* const place = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(mine.data) + page) / page * page);
  ASSERT_EQ(::mmap(place, 100'000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
            place);
  put_and_get(source, {static_cast<std::byte*>(place), 100'000});
  EXPECT_EQ(provider().made, before + 2);
  ASSERT_EQ(::munmap(place, 100'000), 0);
}

TEST_P(remote_pair, refused_operations_keep_no_registration) {
  const std::size_t before = provider().open();
  const bytes source = make_payload(100'000, 4);
  bytes result(100'000);
  provider().is_full = true;
  EXPECT_EQ(origin().put(there(), 0, source), stage::refused);
  EXPECT_EQ(provider().open(), before);
  EXPECT_EQ(origin().get(there(), 0, result, 1'000'000), stage::refused);
  EXPECT_EQ(provider().open(), before);
  EXPECT_EQ(origin().get(there(), 0, mutable_bytes(result).first(8), 1'000'000), stage::refused);
  provider().is_full = false;
  start_put(0, bytes_view(source).first(8));
  finish();
  EXPECT_TRUE(std::ranges::all_of(result, [](std::byte each) { return each == std::byte{0}; }));
  put_and_get(source, result);
}

// The memory is that of the program: the operation continues to read it.
TEST_P(remote_pair, attached_segment_may_end_before_operation) {
  bytes memory = make_payload(100'000, 4);
  const std::optional<segment> attached = origin().attach(memory);
  ASSERT_TRUE(attached);
  start_put(0, memory);
  origin().destroy(*attached);
  finish();
  EXPECT_TRUE(is_payload(owned().first(100'000), 4));
}

TEST_P(remote_pair, more_operations_than_slots_complete) {
  const std::size_t before = provider().open();
  constexpr std::size_t count = 700, stride = 2600;
  std::vector<bytes> sources, results(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = i % 3 == 0 ? bounce + i : 1 + i % 2000;
    sources.push_back(make_payload(i % 3 == 0 ? std::min(size, stride) : size, i));
    start_put(i * stride, sources[i]);
  }
  finish();
  EXPECT_GT(refusals(), 0u);
  for (std::size_t i = 0; i < count; ++i) {
    results[i].resize(sources[i].size());
    start_get(i * stride, results[i]);
  }
  finish();
  EXPECT_EQ(results, sources);
  bytes all(segment_bytes);
  for (int times = 0; times < 3; ++times) {
    for (std::size_t at = 0; at + 3 * bounce <= segment_bytes; at += 3 * bounce) {
      start_get(at, mutable_bytes(all).subspan(at, 3 * bounce));
    }
  }
  finish();
  const std::size_t whole = segment_bytes / (3 * bounce) * 3 * bounce;
  EXPECT_TRUE(std::ranges::equal(bytes_view(all).first(whole), owned().first(whole)));
  EXPECT_EQ(provider().open(), before);
}

TEST_P(remote_pair, notifications_have_descriptors) {
  const bytes source = make_payload(50'000, 9);
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, bounce, std::size_t{50'000}}) {
    const auto bits = static_cast<std::uint32_t>(size);
    static_cast<void>(start([&] { return origin().put_notify(there(), 0, bytes_view(source).first(size), bits, 0); }));
    until([&] { return notified().contains(bits); });
    EXPECT_TRUE(std::ranges::equal(owned().first(size), bytes_view(source).first(size)));
  }
}

TEST_P(remote_pair, atomics_have_descriptors) {
  if (!origin().has_atomics()) GTEST_SKIP() << "this provider has no atomics";
  for (const std::uint8_t size : {std::uint8_t{4}, std::uint8_t{8}}) {
    std::memset(owned().data(), 0, 24);
    EXPECT_EQ(atomic({.op = atomic_op::add, .bytes = size, .operand = 40}), 0u);
    EXPECT_EQ(atomic({.op = atomic_op::compare_swap, .bytes = size, .operand = 2, .expected = 40}), 40u);
    EXPECT_EQ(atomic({.op = atomic_op::compare_swap, .bytes = size, .operand = 3, .expected = 40}), 2u);
    EXPECT_EQ(atomic({.op = atomic_op::fetch, .bytes = size}), 2u);
  }
}

// Then the program may unmap its memory without a word to Amity.
TEST_P(remote_pair, idle_rank_registers_no_memory_of_program) {
  const std::size_t before = provider().open();
  for (const std::size_t size : {std::size_t{100}, bounce + 1, std::size_t{1} << 18}) {
    bytes source = make_payload(size, size), result(size);
    for (std::size_t operations = 1; operations <= 8; operations *= 2) {
      for (std::size_t i = 0; i < operations; ++i) {
        start_put(0, source);
        EXPECT_EQ(provider().registers(source), size > bounce);
        start_get(0, result);
        EXPECT_EQ(provider().registers(result), size > bounce);
      }
      static_cast<void>(start([&] { return origin().put_notify(there(), 0, source, 7, 0); }));
      finish();
      EXPECT_FALSE(provider().registers(source)) << operations << " puts of " << size << " bytes";
      EXPECT_FALSE(provider().registers(result)) << operations << " gets of " << size << " bytes";
    }
    EXPECT_EQ(result, source);
    const std::optional<segment> attached = origin().attach(result);
    ASSERT_TRUE(attached);
    EXPECT_TRUE(provider().registers(result));
    origin().destroy(*attached);
    EXPECT_FALSE(provider().registers(result)) << "attached memory of " << size << " bytes";
  }
  EXPECT_EQ(provider().open(), before);
}

/// Memory of a new file, mapped at `place` if that is not null.
std::byte* map_file(void* place, std::size_t size) {
  const int file = ::memfd_create("amity-test", 0);
  EXPECT_EQ(::ftruncate(file, static_cast<off_t>(size)), 0);
  void* const mapped =
      ::mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | (place != nullptr ? MAP_FIXED : 0), file, 0);
  EXPECT_NE(mapped, MAP_FAILED);
  ::close(file);
  return static_cast<std::byte*>(mapped);
}

// W4: munmap, mmap at the same address, put: the new memory has the data.
TEST_P(remote_pair, memory_mapped_again_is_registered_again) {
  constexpr std::size_t size = std::size_t{1} << 16;
  for (const std::size_t moved : {std::size_t{100}, size}) {
    std::byte* const place = map_file(nullptr, size);
    for (std::uint64_t round = 1; round < 4; ++round) {
      if (round > 1) {
        ASSERT_EQ(::munmap(place, size), 0);
        ASSERT_EQ(map_file(place, size), place);
      }
      std::ranges::copy(make_payload(moved, round), place);
      start_put(0, {place, moved});
      finish();
      EXPECT_TRUE(is_payload(owned().first(moved), round)) << moved << " bytes";
      std::ranges::copy(make_payload(moved, round + 10), owned().begin());
      start_get(0, {place, moved});
      finish();
      EXPECT_TRUE(is_payload({place, moved}, round + 10)) << moved << " bytes";
    }
    ASSERT_EQ(::munmap(place, size), 0);
  }
}

// As a cache of registrations does with a mapping that cannot be written to.
TEST_P(remote_pair, memory_that_cannot_be_registered_is_copied) {
  constexpr std::size_t size = std::size_t{1} << 16;
  std::byte* const fixed = map_file(nullptr, size);
  std::ranges::copy(make_payload(size, 5), fixed);
  ASSERT_EQ(::mprotect(fixed, size, PROT_READ), 0);
  bytes result(size);
  const auto overlaps = [](mutable_bytes one, bytes_view other) {
    return one.data() < other.data() + other.size() && other.data() < one.data() + one.size();
  };
  provider().refuses = [&](mutable_bytes memory) {
    return overlaps(memory, {fixed, size}) || overlaps(memory, result) ? -EFAULT : 0;
  };
  const std::size_t before = provider().open();
  start_put(3, {fixed, size});
  EXPECT_EQ(reached(), stage::source_free);
  finish();
  EXPECT_TRUE(is_payload(owned().subspan(3, size), 5));
  start_get(3, result);
  finish();
  EXPECT_TRUE(is_payload(result, 5));
  EXPECT_EQ(refusals(), 0u);
  EXPECT_EQ(provider().open(), before);
  ASSERT_EQ(::munmap(fixed, size), 0);
}

TEST_P(remote_pair, copies_are_bounded) {
  constexpr std::size_t size = segment_bytes;
  std::vector<bytes> sources(40, make_payload(size, 5));
  provider().refuses = [&](mutable_bytes memory) {
    return std::ranges::any_of(sources,
                               [&](const bytes& each) {
                                 return memory.data() <= each.data() + 1 &&
                                        each.data() + 1 < memory.data() + memory.size();
                               })
               ? -EFAULT
               : 0;
  };
  const std::size_t before = provider().open_bytes();
  std::size_t most = 0;
  for (const bytes& each : sources) {
    start_put(0, each);
    most = std::max(most, provider().open_bytes() - before);
  }
  finish();
  EXPECT_LE(most, local_memory::copies_bytes_max);
  EXPECT_TRUE(is_payload(owned(), 5));
}

TEST_P(remote_pair, lack_of_locked_memory_delays_operations) {
  constexpr std::size_t size = std::size_t{1} << 16, limit = 3 * size;
  const std::size_t before = provider().open_bytes();
  provider().refuses = [&](mutable_bytes memory) {
    return provider().open_bytes() - before + memory.size() > limit ? -FI_ENOMEM : 0;
  };
  std::vector<bytes> sources;
  for (std::uint64_t i = 0; i < 20; ++i) {
    sources.push_back(make_payload(size, i));
    start_put(i * size, sources.back());
  }
  finish();
  EXPECT_GT(refusals(), 0u);
  EXPECT_EQ(lost().peer, no_rank);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(is_payload(owned().subspan(i * size, size), i));
}

TEST_P(remote_pair, lasting_lack_of_locked_memory_is_an_error) {
  provider().refuses = [](mutable_bytes) { return -FI_ENOMEM; };
  const bytes source(bounce + 1);
  until([&] { return origin().put(there(), 0, source) != stage::refused || lost().peer != no_rank; });
  EXPECT_EQ(lost().peer, 1);
  EXPECT_EQ(lost().reason, FI_ENOMEM);
  EXPECT_EQ(lost().unregistered_bytes, bounce + 1);
}

TEST_P(remote_pair, registrations_may_have_one_key) {
  provider().has_one_key = true;
  const std::size_t before = provider().open();
  bytes memory(10'000);
  const auto first = origin().attach(memory), second = origin().attach(memory);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(provider().open(), before + 2);
  origin().destroy(*first);
  EXPECT_EQ(provider().open(), before + 1);
  origin().destroy(*second);
  EXPECT_EQ(provider().open(), before);
}

// ---- providers of clusters, by their descriptions

libraries& real() {
  static libraries loaded;
  return loaded;
}

/// What a provider of adapters describes.
int describe(const char* name, std::uint32_t, const char* address, const fi_info* hints, fi_info** found,
             bool needs_local) {
  *found = nullptr;
  if (address != nullptr ||
      (hints->fabric_attr->prov_name != nullptr && std::string(hints->fabric_attr->prov_name) != name))
    return -FI_ENODATA;
  fi_info* const made = real().fabrics.dupinfo(nullptr);
  made->caps = hints->caps;
  made->fabric_attr->prov_name = ::strdup(name);
  made->fabric_attr->name = ::strdup("adapters");
  made->domain_attr->name = ::strdup("adapter0");
  made->tx_attr->inject_size = 64;
  made->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  if (needs_local || (hints->domain_attr->mr_mode & FI_MR_LOCAL) != 0) made->domain_attr->mr_mode |= FI_MR_LOCAL;
  made->domain_attr->mr_key_size = 4;
  made->domain_attr->cq_data_size = 4;
  *found = made;
  return 0;
}
int verbs(std::uint32_t version, const char* address, const char*, std::uint64_t, const fi_info* hints,
          fi_info** found) {
  return describe("verbs;ofi_rxm", version, address, hints, found, true);
}
int efa(std::uint32_t version, const char* address, const char*, std::uint64_t, const fi_info* hints, fi_info** found) {
  return describe("efa", version, address, hints, found, false);
}

info_ptr found_by(decltype(&::fi_getinfo) getinfo, bool remote) {
  library fabrics = real().fabrics;
  fabrics.getinfo = getinfo;
  std::string why;
  return find_provider(fabrics, {.provider = "", .address = "", .one_node = false, .remote = remote}, why);
}

TEST(ofi_providers, verbs_have_remote_memory) {
  const info_ptr found = found_by(&verbs, true);
  ASSERT_TRUE(found);
  EXPECT_TRUE(remote_capabilities_of(*found, 8192).available);
  EXPECT_NE(found->domain_attr->mr_mode & FI_MR_LOCAL, 0);
  EXPECT_EQ(found->caps & FI_ATOMIC, 0u);
}

TEST(ofi_providers, efa_registers_for_remote_memory) {
  const info_ptr found = found_by(&efa, true);
  ASSERT_TRUE(found);
  EXPECT_TRUE(remote_capabilities_of(*found, 8192).available);
  EXPECT_EQ(found->domain_attr->mr_mode & FI_MR_LOCAL, 0);
  const info_ptr for_packets = found_by(&efa, false);
  ASSERT_TRUE(for_packets);
  EXPECT_NE(for_packets->domain_attr->mr_mode & FI_MR_LOCAL, 0);
}

TEST(ofi_providers, short_keys_must_be_of_provider) {
  const info_ptr found = found_by(&verbs, true);
  ASSERT_TRUE(found);
  found->domain_attr->mr_mode &= ~FI_MR_PROV_KEY;
  EXPECT_FALSE(remote_capabilities_of(*found, 8192).available);
}

}  // namespace
}  // namespace amity::fabric::ofi
