#include "amity/fabric/shm/segments.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/fabric/key_bytes.hpp"

namespace amity::fabric::shm {

/// How the bytes of a key begin.
struct segments::key_fields {
  std::uint64_t seal;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t owner;
};

segments::segments(job_memory& job) : job_(job) {
  struct stat info {};
  file_ = ::fstat(job.fd(), &info) == 0 ? info.st_ino : 0;
}

// A key that was damaged, or belongs to another job, would otherwise reach memory that it does not name.
std::uint64_t segments::seal_of(const key_fields& fields) const noexcept {
  std::uint64_t hash = splitmix64::mix(file_);
  for (const std::uint64_t part : {fields.offset, fields.bytes, fields.owner}) hash = splitmix64::mix(hash ^ part);
  return hash;
}

segment segments::create(rank_t owner, std::size_t bytes) {
  key_fields fields{
      .seal = 0, .offset = job_.take_space(bytes), .bytes = bytes, .owner = static_cast<std::uint64_t>(owner)};
  fields.seal = seal_of(fields);
  return {.data = use(fields.offset, bytes), .bytes = bytes, .key = key_from(fields)};
}

void segments::destroy(const segment& own) noexcept {
  const key_fields fields = fields_of<key_fields>(own.key);
  // Gives the memory back though peers may still hold mappings. Where it cannot, it is given back with the job.
  static_cast<void>(::fallocate(job_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(fields.offset),
                                static_cast<off_t>(round_up(fields.bytes, huge_page_bytes))));
  drop(fields.offset);
}

remote_segment segments::open(rank_t by, rank_t owner, const segment_key& key) {
  const key_fields fields = fields_of<key_fields>(key);
  if (fields.seal != seal_of(fields) || fields.owner != static_cast<std::uint64_t>(owner)) {
    throw error("opening a segment", by, fmt::format("the key is none of rank {} in this job", owner),
                "hand the key of a segment, as it is, from its owner to those who open it");
  }
  static_assert(job_memory::ranks_max <= huge_page_bytes);  // offsets leave room for the owner
  return {.direct = use(fields.offset, fields.bytes), .bytes = fields.bytes, .id = fields.offset + fields.owner};
}

void segments::close(const remote_segment& opened) noexcept {
  drop(opened.id - static_cast<std::uint64_t>(owner_of(opened)));
}

std::byte* segments::use(std::size_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto known = mapped_.find(offset);
  mapped& piece = known != mapped_.end()
                      ? known->second
                      : mapped_.emplace(offset, mapped{file_mapping(job_.fd(), offset, bytes), 0}).first->second;
  ++piece.users;
  return piece.memory.data();
}

void segments::drop(std::size_t offset) noexcept {
  const std::lock_guard lock(mutex_);
  const auto known = mapped_.find(offset);
  AMITY_ASSERT(known != mapped_.end(), offset);
  if (--known->second.users == 0) mapped_.erase(known);
}

}  // namespace amity::fabric::shm
