/// Each rank has rows of the matrix, and wants the entries of y for the columns of the same numbers. So an entry
/// times its x is a message to the owner of its column, where it is added up. The reduction layer adds up beforehand
/// what meets on the way: the example of AM++, section 3.2.3.

#include "apps/graph/kernels/transposed_product.hpp"

#include <algorithm>
#include <utility>

namespace amity::apps::graph {
namespace {

struct summand {
  vertex target;
  double value;
};

struct sum_of {
  summand operator()(const summand& a, const summand& b) const { return {a.target, a.value + b.value}; }
};

}  // namespace

class transposed_product::state {
 public:
  state(world& w, const distributed_graph<matrix_entry>& matrix)
      : world_(w),
        matrix_(matrix),
        summands_(w.message<summand>(add{*this}, combine{&summand::target, sum_of{}},
                                     parallel{thread_of_target{matrix.where}}, coalesce{})) {}

  cost run(const distributed_vector& x, distributed_vector& y) {
    const meter clock(world_);
    y.resize(matrix_.parts.size());
    y_ = &y;
    world_.epoch([&](thread& t) {
      const auto& own = matrix_.of(t);
      const auto& factors = x[index(t)];
      auto& sums = y[index(t)];
      sums.assign(own.size(), 0);
      auto& out = summands_.on(t);
      for (vertex row = 0; row < own.joined; ++row) {
        for (const matrix_entry& entry : own.rows[row]) {
          const double value = entry.length * factors[row];
          if (entry.target - own.first < own.size()) {
            sums[entry.target - own.first] += value;
          } else {
            out.send(matrix_.where.rank(entry.target), {entry.target, value});
          }
        }
      }
    });
    return clock.read();
  }

  message_counters counters() const { return summands_.counters(); }

 private:
  struct add {
    state& product;
    void operator()(std::span<const summand> arrived, auto& self) const {
      auto& sums = (*product.y_)[index(self)];
      const vertex first = product.matrix_.parts[index(self)].first;
      for (const summand& each : arrived) sums[each.target - first] += each.value;
    }
  };
  static std::size_t index(const auto& who) { return static_cast<std::size_t>(who.thread_index()); }

  world& world_;
  const distributed_graph<matrix_entry>& matrix_;
  distributed_vector* y_ = nullptr;
  message_type<summand, add, combine<vertex summand::*, sum_of>, parallel<thread_of_target>, coalesce> summands_;
};

transposed_product::transposed_product(world& w, const distributed_graph<matrix_entry>& matrix)
    : state_(std::make_unique<state>(w, matrix)) {}
transposed_product::~transposed_product() = default;

cost transposed_product::run(const distributed_vector& x, distributed_vector& y) { return state_->run(x, y); }
message_counters transposed_product::counters() const { return state_->counters(); }

}  // namespace amity::apps::graph
