// Weights as text: which type they have, and which are errors.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "apps/graph/input/weight_text.hpp"
#include "scratch.hpp"

namespace amity::apps::graph::tests {
namespace {

using enum weight_type;

/// The weight, or the reason why there is none.
std::variant<std::int64_t, double, std::string> parsed(const std::string& text, const weight_rules& rules = {}) {
  weight_value value;
  const weight_problem problem = parse_weight(text, rules, value);
  if (!problem.reason.empty()) {
    EXPECT_NE(problem.remedy, "") << text;
    return problem.reason;
  }
  if (std::holds_alternative<double>(value)) return std::get<double>(value);
  return std::get<std::int64_t>(value);
}

std::int64_t integer(const std::string& text, const weight_rules& rules = {}) {
  const auto result = parsed(text, rules);
  EXPECT_TRUE(std::holds_alternative<std::int64_t>(result)) << text;
  return std::holds_alternative<std::int64_t>(result) ? std::get<std::int64_t>(result) : -1;
}

double real(const std::string& text, const weight_rules& rules = {}) {
  const auto result = parsed(text, rules);
  EXPECT_TRUE(std::holds_alternative<double>(result)) << text;
  return std::holds_alternative<double>(result) ? std::get<double>(result) : std::nan("");
}

std::string problem(const std::string& text, const weight_rules& rules = {}) {
  const auto result = parsed(text, rules);
  EXPECT_TRUE(std::holds_alternative<std::string>(result)) << text;
  return std::holds_alternative<std::string>(result) ? std::get<std::string>(result) : "";
}

TEST(parse_weight, digits_are_int64) {
  EXPECT_EQ(integer("16777217"), 16777217);
  EXPECT_EQ(integer("+9007199254740993"), 9007199254740993);
  EXPECT_EQ(integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(integer("000"), 0);
  EXPECT_EQ(integer("-0"), 0);
  EXPECT_EQ(integer("-9223372036854775808", {.any_sign = true}), std::numeric_limits<std::int64_t>::min());
}

TEST(parse_weight, other_numbers_are_double) {
  EXPECT_EQ(real("0.1"), 0.1);
  EXPECT_EQ(real("5.0"), 5);
  EXPECT_EQ(real("1e3"), 1000);
  EXPECT_EQ(real("1e-50"), 1e-50);
  EXPECT_EQ(real("5e-324"), 5e-324);
  EXPECT_EQ(real("1.7976931348623157e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(real("-2.5", {.any_sign = true}), -2.5);
  for (const char* zero : {"0.0", "0e-999", "0.000e5", "-0.0"}) {
    EXPECT_EQ(real(zero), 0) << zero;
    EXPECT_FALSE(std::signbit(real(zero))) << zero;
  }
}

TEST(parse_weight, integer_beyond_int64_must_be_exact) {
  EXPECT_EQ(real("9223372036854775808"), 0x1p63);
  EXPECT_EQ(real("0018446744073709551616"), 0x1p64);
  EXPECT_EQ(real("100000000000000000000"), 1e20);
  EXPECT_EQ(problem("9223372036854775809"), "does not fit into int64, and no double is equal to it");
  EXPECT_EQ(problem("18446744073709551617"), "does not fit into int64, and no double is equal to it");
  EXPECT_EQ(problem(std::string(400, '9')), "does not fit into int64, and no double is equal to it");
  EXPECT_EQ(problem("9223372036854775808", {.type = int64}), "does not fit into int64");
  EXPECT_EQ(real("9223372036854775809", {.type = float64}), 0x1p63) << "the user wants it rounded";
}

TEST(parse_weight, value_out_of_range_is_an_error) {
  EXPECT_EQ(problem("1e400"), "is too large for double");
  EXPECT_EQ(problem("1e-400"), "is too small for double: it would become 0");
  EXPECT_EQ(problem(std::string(400, '9'), {.type = float64}), "is too large for double");
  EXPECT_EQ(problem("1e39", {.type = float32}), "is too large for float32");
  EXPECT_EQ(problem("1e-50", {.type = float32}), "is too small for float32: it would become 0");
  EXPECT_EQ(real("1e-45", {.type = float32}), static_cast<double>(1e-45f));
  EXPECT_EQ(real("16777217", {.type = float32}), 16777216);
}

TEST(parse_weight, unusable_value_is_an_error) {
  for (const char* negative : {"-1", "-0.5", "-1e-300", "-1e400", "-18446744073709551616"})
    EXPECT_EQ(problem(negative), "is negative") << negative;
  for (const char* text : {"nan", "-nan", "", "+", "-", "1x", "0x10", "1,5", "++1", "+-1", "heavy", "1e", "."})
    EXPECT_EQ(problem(text), "is not a number") << text;
  for (const char* infinite : {"inf", "-inf", "infinity", "INF"})
    EXPECT_EQ(problem(infinite), "is not finite") << infinite;
  EXPECT_EQ(problem("1.5", {.type = int64}), "is not an integer, which --weight-type int64 requires");
}

TEST(check_weight, number_as_each_type) {
  weight_value value;
  EXPECT_EQ(check_weight(3, {.type = int64}, value).reason, "");
  EXPECT_EQ(value, weight_value(std::int64_t{3}));
  EXPECT_EQ(check_weight(3, {}, value).reason, "");
  EXPECT_EQ(value, weight_value(3.0));
  EXPECT_EQ(check_weight(-3, {.type = int64}, value).reason, "is negative");
  EXPECT_EQ(check_weight(0x1p63, {.type = int64}, value).reason,
            "is not an integer, which --weight-type int64 requires");
  EXPECT_EQ(check_weight(std::numeric_limits<double>::infinity(), {}, value).reason, "is not finite");
}

/// The weights of a text file, or the error.
std::string weights_of(const std::string& content, const weight_rules& rules = {}) {
  scratch files;
  std::string text;
  const std::string failed = error_of([&] {
    edge_list graph = read_quietly(files.write("a.el", content), {}, true, rules);
    text = graph.weights.is_real() ? "double" : "int64";
    if (graph.weights.is_real()) graph.weights.make_real();
    for (std::size_t i = 0; i < graph.weights.size(); ++i) text += " " + weight_text(graph.weights, i);
  });
  return failed == "no error" ? text : failed;
}

TEST(weight_list, one_fraction_makes_all_double) {
  EXPECT_EQ(weights_of("a b 16777217\nb c 1\n"), "int64 16777217 1");
  EXPECT_EQ(weights_of("a b 16777217\nb c 0.5\nc d 3\n"), "double 16777217 0.5 3");
  EXPECT_EQ(weights_of("a b 9007199254740993\n"), "int64 9007199254740993");
  EXPECT_EQ(weights_of("a b 1\n", {.type = float32}), "double 1");
}

TEST(weight_list, inexact_integer_among_fractions_is_named) {
  const std::string expected =
      "amity: a.el:2: weight 9007199254740993 is not exact in double, the type of these weights; write it as "
      "9007199254740993.0 to have it rounded";
  EXPECT_EQ(weights_of("a b 1\nb c 9007199254740993\nc d 0.5\n"), expected);
  EXPECT_EQ(weights_of("a b 0.5\nb c 9007199254740993\nc d 9007199254740995\n"), expected);
  EXPECT_EQ(weights_of("a b 9007199254740993.0\nb c 0.5\n"), "double 9007199254740992 0.5");
  EXPECT_EQ(weights_of("a b 9007199254740993\nb c 0.5\n", {.type = float64}), "double 9007199254740992 0.5");
}

TEST(weight_errors, name_line_and_value) {
  EXPECT_EQ(
      weights_of("a b 1\nb c 1e-50\n", {.type = float32}),
      "amity: a.el:2: length 1e-50 is too small for float32: it would become 0; use --weight-type double, write 0, "
      "or scale the weights");
  EXPECT_EQ(weights_of("a b 1e400\n"), "amity: a.el:1: length 1e400 is too large for double; scale the weights");
  scratch files;
  const auto why = [&](const char* name, const std::string& content) {
    return error_of([&] { read_quietly(files.write(name, content)); });
  };
  EXPECT_EQ(why("a.gr", "p sp 2 1\na 1 2 -7\n"),
            "amity: a.gr:2: length -7 is negative; shortest paths need weights that are finite and not negative");
  EXPECT_EQ(why("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1e999\n"),
            "amity: a.mtx:3: value 1e999 is too large for double; scale the weights");
  EXPECT_EQ(why("a.graph", "2 1 1\n2 1e-999\n1 1e-999\n").substr(0, 49),
            "amity: a.graph:2: weight 1e-999 is too small for ");
}

TEST(read_metis, equal_weights_may_be_written_differently) {
  scratch files;
  EXPECT_EQ(edges_text(read_quietly(files.write("a.graph", "2 1 1\n2 5\n1 5.0\n"))), "1>2:5");
  EXPECT_NE(error_of([&] { read_quietly(files.write("b.graph", "2 1 1\n2 5\n1 5.5\n")); }), "no error");
}

}  // namespace
}  // namespace amity::apps::graph::tests
