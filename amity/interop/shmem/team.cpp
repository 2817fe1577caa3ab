#include "amity/interop/shmem/team.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "amity/interop/shmem/job.hpp"

using namespace amity::shmem;

namespace amity::shmem {

namespace {

/// The PEs whose memory is mapped here, if a stride can tell them; else this PE alone. Those that share memory agree.
group sharing_memory() {
  group found{.start = self.me, .stride = 1, .size = 0, .me = 0};
  bool regular = true;
  for (int pe = 0, last = -1; pe < self.pes; ++pe) {
    if (self.peers[pe].heap_bytes == 0) continue;
    if (found.size == 0) found.start = pe;
    if (found.size == 1) found.stride = pe - last;
    if (found.size > 1) regular &= pe - last == found.stride;
    if (pe == self.me) found.me = found.size;
    ++found.size;
    last = pe;
  }
  return regular ? found : group{.start = self.me, .stride = 1, .size = 1, .me = 0};
}

}  // namespace

group team_of(const char* call, shmem_team_t team) {
  running(call);
  if (team == SHMEM_TEAM_INVALID) fail(call, "the team is SHMEM_TEAM_INVALID", "use a team that this PE is in");
  if (team == SHMEM_TEAM_WORLD) return world();
  if (team == SHMEM_TEAM_SHARED) return sharing_memory();
  if (team->size == 0) fail(call, "the team was destroyed", "use a team until its shmem_team_destroy");
  return *team;
}

void fail_context(const char* call, shmem_ctx_t context, int pe) {
  if (self.pes == 0) fail_outside(call);
  if (context == SHMEM_CTX_INVALID) {
    fail(call, "the context is SHMEM_CTX_INVALID", "use SHMEM_CTX_DEFAULT, or a context of shmem_ctx_create");
  }
  if (context->pes.size == 0) {
    fail(call, "the context was destroyed", "use a context until its shmem_ctx_destroy, and destroy it once");
  }
  fail_pe(call, pe, context->pes.size);
}

}  // namespace amity::shmem

namespace {

/// Whether the parent has these PEs.
bool fits(const group& parent, int start, int stride, int size) {
  const long last = start + (size - 1L) * stride;
  return size > 0 && (stride != 0 || size == 1) && start >= 0 && start < parent.size && last >= 0 && last < parent.size;
}

int contexts_asked_for(const char* call, const shmem_team_config_t* config, long mask) {
  if ((mask & SHMEM_TEAM_NUM_CONTEXTS) == 0) return 0;
  if (config == nullptr)
    fail(call, "the mask names SHMEM_TEAM_NUM_CONTEXTS, but there is no configuration", "pass one, or 0 as the mask");
  return config->num_contexts;
}

/// A new team of some of the parent's PEs, which has so many contexts; none where this PE is not among them.
shmem_team_t split(const group& parent, int start, int stride, int size, int contexts) {
  const int distance = parent.me - start;
  const int me = stride == 0 ? distance : distance / stride;
  const bool member = me >= 0 && me < size && start + me * stride == parent.me;
  if (!member) return SHMEM_TEAM_INVALID;
  return self.joined->teams().create({.start = parent.world_pe(start),
                                      .stride = parent.stride * stride,
                                      .size = size,
                                      .me = me,
                                      .contexts = contexts});
}

}  // namespace

AMITY_SHMEM_DEFINE(int, team_my_pe, (shmem_team_t team)) {
  return team == SHMEM_TEAM_INVALID ? -1 : team_of("shmem_team_my_pe", team).me;
}

AMITY_SHMEM_DEFINE(int, team_n_pes, (shmem_team_t team)) {
  return team == SHMEM_TEAM_INVALID ? -1 : team_of("shmem_team_n_pes", team).size;
}

AMITY_SHMEM_DEFINE(int, team_get_config, (shmem_team_t team, long mask, shmem_team_config_t* config)) {
  if (team == SHMEM_TEAM_INVALID) return -1;
  const group all = team_of("shmem_team_get_config", team);
  if ((mask & SHMEM_TEAM_NUM_CONTEXTS) != 0) config->num_contexts = all.contexts;
  return 0;
}

AMITY_SHMEM_DEFINE(int, team_translate_pe, (shmem_team_t source, int pe, shmem_team_t dest)) {
  if (source == SHMEM_TEAM_INVALID || dest == SHMEM_TEAM_INVALID) return -1;
  const group from = team_of("shmem_team_translate_pe", source);
  const group to = team_of("shmem_team_translate_pe", dest);
  if (pe < 0 || pe >= from.size) return -1;
  const int distance = from.world_pe(pe) - to.start;
  const int there = to.stride == 0 ? distance : distance / to.stride;
  return there >= 0 && there < to.size && to.world_pe(there) == from.world_pe(pe) ? there : -1;
}

AMITY_SHMEM_DEFINE(int, team_split_strided,
                   (shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t* config, long mask,
                    shmem_team_t* team)) {
  *team = SHMEM_TEAM_INVALID;
  if (parent == SHMEM_TEAM_INVALID) return 1;
  constexpr const char* call = "shmem_team_split_strided";
  const group all = team_of(call, parent);
  const int contexts = contexts_asked_for(call, config, mask);
  if (!fits(all, start, stride, size)) return 1;
  *team = split(all, start, stride, size, contexts);
  return 0;
}

AMITY_SHMEM_DEFINE(int, team_split_2d,
                   (shmem_team_t parent, int columns, const shmem_team_config_t* x_config, long x_mask,
                    shmem_team_t* x_team, const shmem_team_config_t* y_config, long y_mask, shmem_team_t* y_team)) {
  *x_team = *y_team = SHMEM_TEAM_INVALID;
  if (parent == SHMEM_TEAM_INVALID || columns < 1) return 1;
  constexpr const char* call = "shmem_team_split_2d";
  const group all = team_of(call, parent);
  const int x_contexts = contexts_asked_for(call, x_config, x_mask);
  const int y_contexts = contexts_asked_for(call, y_config, y_mask);
  columns = std::min(columns, all.size);
  const int row_start = all.me / columns * columns;
  const int column = all.me % columns;
  *x_team = split(all, row_start, 1, std::min(columns, all.size - row_start), x_contexts);
  *y_team = split(all, column, columns, (all.size - column + columns - 1) / columns, y_contexts);
  return 0;
}

AMITY_SHMEM_DEFINE(void, team_destroy, (shmem_team_t team)) {
  if (team == SHMEM_TEAM_INVALID || team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED) return;
  team_of("shmem_team_destroy", team);
  self.joined->teams().destroy(team);
}

AMITY_SHMEM_DEFINE(int, team_create_ctx, (shmem_team_t team, long, shmem_ctx_t* context)) {
  *context = SHMEM_CTX_INVALID;
  if (team == SHMEM_TEAM_INVALID) return 1;
  const group pes = team_of("shmem_team_create_ctx", team);
  *context = self.joined->contexts().create({.team = team, .pes = pes});
  return 0;
}

AMITY_SHMEM_DEFINE(int, ctx_create, (long options, shmem_ctx_t* context)) {
  return pshmem_team_create_ctx(SHMEM_TEAM_WORLD, options, context);
}

AMITY_SHMEM_DEFINE(void, ctx_destroy, (shmem_ctx_t context)) {
  if (context == SHMEM_CTX_INVALID) return;
  if (context == SHMEM_CTX_DEFAULT) {
    fail("shmem_ctx_destroy", "it is called for SHMEM_CTX_DEFAULT", "destroy what shmem_ctx_create has made");
  }
  check_context("shmem_ctx_destroy", context);
  shmem_ctx_quiet(context);
  self.joined->contexts().destroy(context);
}

AMITY_SHMEM_DEFINE(int, ctx_get_team, (shmem_ctx_t context, shmem_team_t* team)) {
  if (context != SHMEM_CTX_INVALID) check_context("shmem_ctx_get_team", context);
  *team = context == SHMEM_CTX_INVALID   ? SHMEM_TEAM_INVALID
          : context == SHMEM_CTX_DEFAULT ? SHMEM_TEAM_WORLD
                                         : context->team;
  return context == SHMEM_CTX_INVALID ? 1 : 0;
}
