#include "monitors/shape/text_shape.h"

#include <gtest/gtest.h>

namespace tapline {
namespace {

std::string template_of(TextKind kind, std::string_view text) {
  std::string out = "before ";
  append_template(kind, text, &out);
  EXPECT_EQ(out.substr(0, 7), "before ");
  return out.substr(7);
}
std::string url(std::string_view url) { return template_of(TextKind::kUrl, url); }
std::string sql(std::string_view sql) { return template_of(TextKind::kSql, sql); }

TEST(TextShape, PathsLoseTheirIds) {
  EXPECT_EQ(url("/"), "/");
  EXPECT_EQ(url("/user/17"), "/user/{id}");
  EXPECT_EQ(url("/user/17/orders/9f8e7d6c5b4a/"), "/user/{id}/orders/{id}/");
  EXPECT_EQ(url("/v/7/page0587.html"), "/v/{id}/page{n}.html");
  EXPECT_EQ(url("/v2/oauth2/token"), "/v2/oauth2/token");
  EXPECT_EQ(url("/d/123e4567-e89b-12d3-a456-426614174000.json"), "/d/{id}.json");
  EXPECT_EQ(url("/reset/dGhpcyBpcyBhIHRva2VuMTIz"), "/reset/{id}");
  EXPECT_EQ(url("/deadbeef/facade"), "/deadbeef/facade");
  EXPECT_EQ(url("/index.html"), "/index.html");
}

TEST(TextShape, ParametersKeepTheirNames) {
  EXPECT_EQ(url("/search?q=secret&page=2"), "/search?q={}&page={}");
  EXPECT_EQ(url("/search?secret"), "/search?{}");
  EXPECT_EQ(url("/search?"), "/search");
  EXPECT_EQ(url("/a;17?b#c=secret"), "/a;17?{}");
  EXPECT_EQ(url("/a?x=1&&y"), "/a?x={}&{}&{}");
}

TEST(TextShape, AbsoluteUrlsKeepTheirHostAndLosePasswords) {
  EXPECT_EQ(url("http://10.0.0.1:8080/user/17"), "http://10.0.0.1:8080/user/{id}");
  EXPECT_EQ(url("https://me:secret@h1/user/17"), "https://h1/user/{id}");
  EXPECT_EQ(url("http://h1"), "http://h1");
}

TEST(TextShape, StatementsLoseTheirLiterals) {
  EXPECT_EQ(sql("SELECT a FROM t WHERE id = 17"), "SELECT a FROM t WHERE id = ?");
  EXPECT_EQ(sql("select  a\n from t1 where b='it''s' and c=\"x\\\"y\""), "select a from t1 where b=? and c=?");
  EXPECT_EQ(sql("SELECT * FROM t WHERE a=-1.5e-7 OR b=0xDEADBEEF OR c=X'0f' OR d=_utf8'x' OR e=.5"),
            "SELECT * FROM t WHERE a=-? OR b=? OR c=? OR d=? OR e=?");
  EXPECT_EQ(sql("SELECT `weird 'name` FROM db.t2 LIMIT 10"), "SELECT `weird 'name` FROM db.t2 LIMIT ?");
  EXPECT_EQ(sql("SELECT $1, $tag$it's$tag$, $$x$$ FROM t"), "SELECT $1, ? FROM t");
  EXPECT_EQ(sql("SELECT a, b, 3, c FROM t"), "SELECT a, b, ?, c FROM t");
  EXPECT_EQ(sql("SELECT f(a, 'x'), g() FROM t"), "SELECT f(a, ?), g() FROM t");
  EXPECT_EQ(sql("SET NAMES utf8mb4"), "SET NAMES utf8mb4");
  EXPECT_EQ(sql("WHERE id = ? AND n = ?"), "WHERE id = ? AND n = ?");
}

TEST(TextShape, ListsAndRowsAreMerged) {
  for (const char* list : {"1", "1,2", "1, 2 ,3", " 'a' , 'b' ", "?,?, ?"}) {
    EXPECT_EQ(sql("DELETE FROM t WHERE id IN (" + std::string(list) + ")"), "DELETE FROM t WHERE id IN (?)") << list;
  }
  for (const char* rows : {"(1,'a')", "(1,'a'),(2,'b')", "(1, 'a') , (2, 'b'),\n (3,'c')"}) {
    EXPECT_EQ(sql("INSERT INTO t (a, b) VALUES " + std::string(rows)), "INSERT INTO t (a, b) VALUES (?)") << rows;
  }
}

TEST(TextShape, CommentsAreRemoved) {
  EXPECT_EQ(sql("SELECT /* user=17 */ a -- secret\nFROM t # more"), "SELECT a FROM t");
  EXPECT_EQ(sql("/* trace:17 */ SELECT 1"), "SELECT ?");
}

TEST(TextShape, UnterminatedLiteralsAreHidden) {
  EXPECT_EQ(sql("SELECT 'secret"), "SELECT ?");
  EXPECT_EQ(sql("SELECT \"secret\\"), "SELECT ?");
  EXPECT_EQ(sql("SELECT $$secret"), "SELECT ?");
  EXPECT_EQ(sql("SELECT a /* secret"), "SELECT a");
  EXPECT_EQ(sql("SELECT `name"), "SELECT `name");
}

TEST(TextShape, TruncatedStatementsRevealNoLiteral) {
  const std::string statement =
      "INSERT INTO t (a, b) VALUES ('sEcReT', \"sEcReT\", N'sEcReT'), (/*sEcReT*/ $q$sEcReT$q$, 1) -- sEcReT\n";
  for (size_t length = 0; length <= statement.size(); ++length) {
    EXPECT_EQ(sql(std::string_view(statement).substr(0, length)).find("sEc"), std::string::npos) << length;
  }
}

TEST(TextShape, Keys) {
  EXPECT_EQ(template_of(TextKind::kKey, "user:17:profile"), "user:{id}:profile");
  EXPECT_EQ(template_of(TextKind::kKey, "session/0123456789abcdef"), "session/{id}");
  EXPECT_EQ(template_of(TextKind::kPlain, "host-1234.rack7.example.org"), "host-{n}.rack7.example.org");
}

const Schema kSchema = {.name = "p",
                        .fields = {{"method", FieldType::kString},
                                   {"url", FieldType::kString},
                                   {"host", FieldType::kString},
                                   {"bytes", FieldType::kU64}}};

std::vector<std::string> shaped(const std::vector<FieldShape>& shapes, HashKey key = {1, 2}) {
  auto shaper = TextShaper::make(kSchema, shapes, key);
  if (shaper == nullptr) return {};
  std::vector<std::string> texts;
  for (int twice = 0; twice < 2; ++twice) {
    texts.clear();
    const std::string url = "/user/17?token=x";
    const Value values[] = {Value::string("GET"), Value::string(url), Value::string("h1"), Value::u64(5)};
    auto shaped = shaper->shape(values);
    EXPECT_EQ(shaped.size(), 4u);
    EXPECT_EQ(shaped[3].as_u64(), 5u);
    for (int i = 0; i < 3; ++i) texts.emplace_back(shaped[static_cast<size_t>(i)].as_string());
  }
  return texts;
}

TEST(TextShaper, ShapesTheFieldsThatAQueryNames) {
  EXPECT_EQ(shaped({{"p", "url", TextForm::kTemplate}, {"p", "host", TextForm::kOmit}}),
            (std::vector<std::string>{"GET", "/user/{id}?token={}", ""}));
  EXPECT_EQ(shaped({{"p", "url", TextForm::kPath}}), (std::vector<std::string>{"GET", "/user/17", "h1"}));
  EXPECT_TRUE(shaped({{"other", "url", TextForm::kPath}}).empty());
  EXPECT_TRUE(shaped({{"p", "url", TextForm::kAsIs}}).empty());
  EXPECT_TRUE(shaped({}).empty());
}

TEST(TextShaper, HashesAreEqualForEqualTextsUnderOneKey) {
  const auto hashed = shaped({{"p", "url", TextForm::kHash}, {"p", "host", TextForm::kHash}});
  EXPECT_EQ(hashed[1].size(), 16u);
  EXPECT_NE(hashed[1], hashed[2]);
  EXPECT_EQ(shaped({{"p", "host", TextForm::kHash}})[2], hashed[2]);
  EXPECT_NE((shaped({{"p", "host", TextForm::kHash}}, {1, 3}))[2], hashed[2]);
}

}  // namespace
}  // namespace tapline
