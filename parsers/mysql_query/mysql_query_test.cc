#include <gtest/gtest.h>

#include <algorithm>

#include "parsers/mysql_query/dialogues.h"
#include "parsers/mysql_query/statement_table.h"
#include "parsers/sql/hide_secrets.h"

namespace tapline::mysql_test {
namespace {

TEST(MysqlQuery, TextStatements) {
  expect_at_every_cut(
      logged_in() + Dialogue{{true, query("SELECT * FROM item")},
                             {false, result_set(3)},
                             {true, query("UPDATE item SET id = 1")},
                             {false, ok(1, 2, 5)},
                             {true, query("SELEC 1")},
                             {false, error(1, 1064)},
                             {true, query("SELECT 1 WHERE 0")},
                             {false, result_set(0)},
                             {true, command('\x0e')},
                             {false, ok(1)},
                             {true, command('\x01')}},
      {kConnected, "query SELECT * FROM item ok 0 3 1 ", "query UPDATE item SET id = 1 ok 0 0 1 ",
       "query SELEC 1 error 1064 0 0 ", "query SELECT 1 WHERE 0 ok 0 0 1 ", "ping  ok 0 0 1 ", "quit  - - - - "});
}

TEST(MysqlQuery, WithoutEofPackets) {
  const uint32_t server = kServerCapabilities | kDeprecateEof, client = kClientCapabilities | kDeprecateEof;
  expect_at_every_cut(logged_in(server, client) + Dialogue{{true, query("SELECT 1")},
                                                           {false, result_set(2, false)},
                                                           {true, query("SELECT 0")},
                                                           {false, result_set(0, false)},
                                                           {true, prepare("SELECT ?")},
                                                           {false, prepared(1, 1, 1, false)},
                                                           {true, execute(1)},
                                                           {false, result_set(1, false)}},
                      {kConnected, "query SELECT 1 ok 0 2 1 ", "query SELECT 0 ok 0 0 1 ", "prepare SELECT ? ok 0 0 0 ",
                       "execute SELECT ? ok 0 1 1 "});
}

TEST(MysqlQuery, PreparedStatementsHaveTheirText) {
  expect_at_every_cut(
      logged_in() + Dialogue{{true, prepare("SELECT a FROM t WHERE id = ?")},
                             {false, prepared(1, 1, 2)},
                             {true, prepare("DELETE FROM t")},
                             {false, prepared(2, 0, 0)},
                             {true, execute(1)},
                             {false, result_set(2)},
                             {true, execute(2)},
                             {false, ok(1, 2, 9)},
                             {true, close(1) + prepare("SELECT b")},
                             {false, prepared(3, 0, 1)},
                             {true, execute(1)},
                             {false, error(1, 1243)},
                             {true, execute(3)},
                             {false, result_set(1)}},
      {kConnected, "prepare SELECT a FROM t WHERE id = ? ok 0 0 0 ", "prepare DELETE FROM t ok 0 0 0 ",
       "execute SELECT a FROM t WHERE id = ? ok 0 2 1 ", "execute DELETE FROM t ok 0 0 1 ", "close  - - - - ",
       "prepare SELECT b ok 0 0 0 ", "execute - error 1243 0 0 ", "execute SELECT b ok 0 1 1 "});
}

TEST(MysqlQuery, LongDataGetsNoResponse) {
  const std::string piece = command('\x18', number(1, 4) + number(0, 2) + std::string(3000, 'b'));
  EXPECT_EQ(parse(logged_in() + Dialogue{{true, prepare("INSERT INTO t VALUES (?)")},
                                         {false, prepared(1, 1, 0)},
                                         {true, piece},
                                         {true, piece + execute(1)},
                                         {false, ok(1, 2, 1)}}),
            (Lines{kConnected, "prepare INSERT INTO t VALUES (?) ok 0 0 0 ", "long_data  - - - - ",
                   "long_data  - - - - ", "execute INSERT INTO t VALUES (?) ok 0 0 1 "}));
}

TEST(MysqlQuery, ExecutionBeforeThePreparedStatementHasAnId) {
  EXPECT_EQ(parse(logged_in() + Dialogue{{true, prepare("SELECT 5") + execute(0xffffffff)},
                                         {false, prepared(4, 0, 1) + result_set(1)}}),
            (Lines{kConnected, "prepare SELECT 5 ok 0 0 0 ", "execute SELECT 5 ok 0 1 1 "}));
}

TEST(MysqlQuery, StatementsAreNeverConfused) {
  // Either of the two statements may have the ID 1.
  const std::vector<Frame> frames =
      spoken(logged_in() + Dialogue{{true, prepare("SELECT 1")}, {true, prepare("SELECT 2")}, {true, execute(1)}})
          .frames();
  EXPECT_EQ(parse(frames).back(), "execute - - - - - request");
  // The first statement was not captured.
  EXPECT_EQ(parse(logged_in() + Dialogue{{true, prepare("SELECT 2") + execute(2)}})[2], "execute - - - - - request");
}

TEST(MysqlQuery, SeveralStatementsAtOnce) {
  int sequence = 1;
  std::string response = result_set(&sequence, 1, kMore | 2);
  response += ok(sequence++, kMore | 2);
  response += result_set(&sequence, 2, 2);
  expect_at_every_cut(logged_in() + Dialogue{{true, query("SELECT 1; SET @a = 1; SELECT 2")}, {false, response}},
                      {kConnected, "query SELECT 1; SET @a = 1; SELECT 2 ok 0 3 3 "});
  sequence = 1;
  response = result_set(&sequence, 1, kMore | 2);
  response += error(sequence, 1146);
  EXPECT_EQ(parse(logged_in() + Dialogue{{true, query("SELECT 1; SELECT * FROM no")}, {false, response}})[1],
            "query SELECT 1; SELECT * FROM no error 1146 1 1 ");
}

TEST(MysqlQuery, ManyRowsAndAnErrorAfterThem) {
  int sequence = 1;
  std::string killed = result_set(&sequence, 700);
  killed.resize(killed.size() - 9);
  killed += error((sequence - 1) & 255, 1317);
  EXPECT_EQ(parse(spoken(logged_in() + Dialogue{{true, query("SELECT a")},
                                                {false, result_set(1000)},
                                                {true, query("SELECT b")},
                                                {false, killed}},
                         1400, true)
                      .close()
                      .frames()),
            (Lines{kConnected, "query SELECT a ok 0 1000 1 ", "query SELECT b error 1317 700 0 "}));
}

TEST(MysqlQuery, RowsOfACursorAreFetched) {
  const std::string opened = count(1, 2) + column(2) + column(3) + eof(4, kCursor | 2);
  std::string fetched;
  for (int row = 1; row <= 3; ++row) fetched += packet(row, std::string("\0\0ab", 4));
  const std::string fetch = command('\x1c', number(1, 4) + number(3, 4));
  EXPECT_EQ(parse(logged_in() + Dialogue{{true, prepare("SELECT c")},
                                         {false, prepared(1, 0, 2)},
                                         {true, execute(1, 1)},
                                         {false, opened},
                                         {true, fetch},
                                         {false, fetched + eof(4, kCursor | 2)},
                                         {true, fetch},
                                         {false, eof(1, 0x80 | 2)}}),
            (Lines{kConnected, "prepare SELECT c ok 0 0 0 ", "execute SELECT c ok 0 0 1 ", "fetch SELECT c ok 0 3 1 ",
                   "fetch SELECT c ok 0 0 1 "}));
}

TEST(MysqlQuery, LoadDataSendsAFileOfTheClient) {
  const Dialogue load = {{true, query("LOAD DATA LOCAL INFILE 'f' INTO TABLE t")},
                         {false, packet(1,
                                        "\xfb"
                                        "f")},
                         {true, packet(2, "1,2\n3,4\n") + packet(3, std::string(2000, '\x16'))},
                         {true, packet(4, "")},
                         {false, ok(5, 2, 4)},
                         {true, query("SELECT 1")},
                         {false, result_set(1)}};
  expect_at_every_cut(logged_in() + load, {kConnected, "query LOAD DATA LOCAL INFILE 'f' INTO TABLE t ok 0 0 1 ",
                                           "query SELECT 1 ok 0 1 1 "});
  EXPECT_EQ(parse(logged_in() + load, {"request_bytes"})[1], std::to_string(44 + 12 + 2004 + 4));
}

TEST(MysqlQuery, StatementsOfSeveralPackets) {
  const std::string first = packet(0, "\x03INSERT " + std::string(0xffffff - 8, 'x'));
  const std::string last = packet(1, std::string(3000, 'x'));
  Harness run({"mysql_query"}, {.max_connections = 4});
  run.all(spoken(logged_in() +
                     Dialogue{{true, first + last}, {false, ok(2)}, {true, query("SELECT 1")}, {false, result_set(1)}},
                 60'000, true)
              .close()
              .frames());
  ASSERT_EQ(run.tuples().size(), 3u);
  EXPECT_EQ(run.tuples()[1]["statement"].size(), 32'768u);
  EXPECT_EQ(run.lines({"status", "cut", "request_bytes", "partial"})[1],
            "ok true " + std::to_string(first.size() + last.size()) + " ");
  EXPECT_EQ(run.tuples()[2]["statement"], "SELECT 1");
}

TEST(MysqlQuery, AnErrorBeforeTheRequestIsComplete) {
  EXPECT_EQ(parse(logged_in() + Dialogue{{true, packet(0, "\x03INSERT " + std::string(100'000, 'x')).substr(0, 60)},
                                         {false, error(1, 1153)}}),
            (Lines{kConnected, "query INSERT " + std::string(48, 'x') + " error 1153 0 0 "}));
}

TEST(MysqlQuery, ConnectionPhase) {
  // The server requests another authentication method, and the client responds.
  const std::string switch_request = packet(2, std::string("\xfe"
                                                           "caching_sha2_password\0scramble",
                                                           31));
  expect_at_every_cut({{false, greeting()},
                       {true, login(kClientCapabilities)},
                       {false, switch_request},
                       {true, packet(3, "SECRET")},
                       {false, packet(4, "\x01\x04")},
                       {true, packet(5, "SECRET")},
                       {false, error(6, 1045)}},
                      {"connect  error 1045 0 0 "});
  EXPECT_EQ(parse(Dialogue{{false, packet(0, '\xff' + number(1040, 2) + "#08004Too many connections")}}),
            Lines{"connect - error 1040 0 0 response"});
  EXPECT_EQ(parse(Dialogue{{false, greeting()}}), Lines{});
}

TEST(MysqlQuery, ChangeUserForgetsStatements) {
  EXPECT_EQ(parse(logged_in() + Dialogue{{true, prepare("SELECT 1")},
                                         {false, prepared(1, 0, 1)},
                                         {true, command('\x11', std::string("eve\0\x06SECRETshop\0", 16))},
                                         {false, packet(1, std::string("\xfe"
                                                                       "other\0scramble",
                                                                       15))},
                                         {true, packet(2, "SECRET")},
                                         {false, ok(3)},
                                         {true, execute(1)},
                                         {false, error(1, 1243)}}),
            (Lines{kConnected, "prepare SELECT 1 ok 0 0 0 ", "change_user  ok 0 0 0 ", "execute - error 1243 0 0 "}));
}

TEST(MysqlQuery, EncryptionAndCompressionAreReported) {
  const std::string request =
      packet(1, number(kClientCapabilities | kTls, 4) + number(1 << 24, 4) + '\x21' + std::string(23, '\0'));
  EXPECT_EQ(
      parse(Dialogue{{false, greeting()}, {true, request}, {true, "\x16\x03\x01 hello"}, {false, "\x16\x03\x03 too"}}),
      Lines{"connect  tls 0 0 0 "});
  const std::string compressed = number(30, 3) + '\0' + number(40, 3) + "x\x9czlib";
  EXPECT_EQ(
      parse(logged_in(kServerCapabilities | kCompress, kClientCapabilities | kCompress) + Dialogue{{true, compressed}}),
      Lines{"connect  compressed 0 0 0 "});
  // Only one side offers compression.
  EXPECT_EQ(parse(logged_in(kServerCapabilities, kClientCapabilities | kCompress) +
                  Dialogue{{true, query("SELECT 1")}, {false, result_set(1)}})[1],
            "query SELECT 1 ok 0 1 1 ");
}

TEST(MysqlQuery, QueryAttributesAreNotPartOfTheStatement) {
  const uint32_t server = kServerCapabilities | kAttributes, client = kClientCapabilities | kAttributes;
  const std::string none = std::string("\0\x01", 2) + "SELECT 1";
  const std::string two = std::string("\x02\x01\0\x01", 4) + std::string("\xfe\0", 2) + text("trace") +
                          std::string("\x08\0", 2) + text("n") + text("abc") + number(17, 8) + "SELECT 2";
  const Dialogue asked = {{true, query(none)}, {false, result_set(1)}, {true, query(two)}, {false, result_set(1)}};
  expect_at_every_cut(logged_in(server, client) + asked,
                      {kConnected, "query SELECT 1 ok 0 1 1 ", "query SELECT 2 ok 0 1 1 "});
  // In a stream that was joined in the middle, bytes that look like attributes are parsed as attributes.
  EXPECT_EQ(
      parse(
          spoken(Dialogue{{true, query("SELECT 0")}, {false, result_set(1)}} + asked, SIZE_MAX, false, false).frames()),
      (Lines{"query SELECT 0 ok 0 1 1 ", "query SELECT 1 ok 0 1 1 ", "query SELECT 2 ok 0 1 1 "}));
}

TEST(MysqlQuery, PasswordsAreNotReported) {
  const std::string statement = "CREATE USER 'eve'@'%' IDENTIFIED BY 'SECRET' REQUIRE NONE";
  const Dialogue dialogue =
      logged_in() +
      Dialogue{{true, query(statement)},   {false, ok(1)},     {true, prepare("SET PASSWORD = \"SECRET\"")},
               {false, prepared(1, 0, 0)}, {true, execute(1)}, {false, ok(1)}};
  const Lines expected = {kConnected, "query CREATE USER '***' REQUIRE NONE ok 0 0 1 ",
                          "prepare SET PASSWORD = '***' ok 0 0 0 ", "execute SET PASSWORD = '***' ok 0 0 1 "};
  expect_at_every_cut(dialogue, expected);
  // Regardless of which bytes are lost, no tuple contains any part of a secret.
  for (size_t cut : {1000u, 30u, 9u}) {
    const std::vector<Frame> frames = spoken(dialogue, cut, true).close().frames();
    for (size_t lost = 0; lost < frames.size(); ++lost) {
      std::vector<Frame> left = frames;
      left.erase(left.begin() + static_cast<ptrdiff_t>(lost));
      for (const std::string& line : parse(left)) EXPECT_EQ(line.find("SECR"), std::string::npos) << line;
    }
  }
}

TEST(HideSecrets, HidesQuotedStrings) {
  const auto hidden = [](std::string text, bool is_cut = false) {
    sql::hide_secrets(text, "'\"", is_cut);
    return text;
  };
  EXPECT_EQ(hidden("SELECT 'a', \"b\""), "SELECT 'a', \"b\"");
  EXPECT_EQ(hidden("alter user u identified by 'it''s' x"), "alter user u identified by '***' x");
  EXPECT_EQ(hidden("SELECT * FROM u WHERE Passwd='a\\'b' AND n=\"c\" -- d"), "SELECT * FROM u WHERE Passwd='***' -- d");
  EXPECT_EQ(hidden("SET PASSWORD = 'half of it", true), "SET PASSWORD = '***'");
  EXPECT_EQ(hidden("SELECT password FROM u"), "SELECT password FROM u");
}

TEST(MysqlQuery, Times) {
  int sequence = 1;
  const std::string response = result_set(&sequence, 3);
  const size_t rows = response.size() - 9 - 3 * 15;
  Conversation conversation = spoken(logged_in());
  const std::string asked = query("SELECT 1");
  conversation.client(asked.substr(0, 6)).client(asked.substr(6)).wait_ns(50'000'000);
  conversation.server(response.substr(0, 10))
      .wait_ns(10'000'000)
      .server(response.substr(10, rows - 10))
      .wait_ns(20'000'000);
  conversation.server(response.substr(rows, 20)).wait_ns(5'000'000).server(response.substr(rows + 20, 25));
  conversation.wait_ns(7'000'000).server(response.substr(rows + 45)).close();
  Harness run({"mysql_query"});
  run.all(conversation.frames());
  ASSERT_EQ(run.tuples().size(), 2u);
  EXPECT_EQ(run.lines({"first_byte_ns", "first_row_ns", "last_row_ns", "response_time_ns"})[1],
            "52000000 84000000 90000000 98000000");
  EXPECT_EQ(run.tuples()[1].endpoints(), "10.0.0.1:40000>10.0.0.2:3306");
}

TEST(MysqlQuery, OtherProtocolsEmitNothing) {
  const std::string zeros(100, '\0');
  for (const std::string& first :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\x16\x03\x01\x02\x00\x01"), std::string("SSH-2.0-x\r\n"),
        std::string("*1\r\n$4\r\nPING\r\n"), std::string("\0\0\0\x08\x04\xd2\x16\x2f", 8), zeros}) {
    for (const bool from_client : {true, false}) {
      for (const bool handshake : {true, false}) {
        const Dialogue dialogue = {{from_client, first}, {!from_client, "220 ready\r\n"}, {from_client, first}};
        EXPECT_EQ(parse(spoken(dialogue, SIZE_MAX, false, handshake).frames()), Lines{}) << first;
      }
    }
  }
}

TEST(MysqlQuery, TheClientIsIdentifiedByItsMessages) {
  Conversation::Options options;
  options.client_port = 3306;
  options.server_port = 40000;  // by port alone, the server would be the client
  Conversation conversation(options);
  conversation.client(query("SELECT 1")).server(result_set(1));
  Harness run({"mysql_query"});
  run.all(conversation.frames());
  ASSERT_EQ(run.tuples().size(), 1u);
  EXPECT_EQ(run.tuples()[0].endpoints(), "10.0.0.1:3306>10.0.0.2:40000");
  EXPECT_EQ(run.tuples()[0].header.client_known_by, ClientKnownBy::kProtocol);
}

TEST(MysqlQuery, EndingAQueryReportsItsPendingTransactionsOnly) {
  const std::vector<Frame> frames =
      spoken(logged_in() + Dialogue{{true, query("SELECT 1")}, {false, result_set(1)}}).frames();
  Harness run({"mysql_query"});
  run.feed({frames.begin(), frames.end() - 1}, 0b11);
  run.engine().end_queries(0b01);
  ASSERT_EQ(run.tuples().size(), 2u);
  EXPECT_EQ(run.tuples()[1].header.queries, 0b01u);
  EXPECT_EQ(run.tuples()[1]["partial"], "request");
  run.feed({frames.end() - 1, frames.end()}, 0b10);
  ASSERT_EQ(run.tuples().size(), 3u);
  EXPECT_EQ(run.tuples()[2].header.queries, 0b10u);
  EXPECT_EQ(run.tuples()[2]["partial"], "");
}

TEST(StatementTable, EvictsNoMoreThanNecessary) {
  mysql::StatementTable table;
  const uint32_t places = mysql::StatementTable::kMaxPlaces;
  for (uint32_t id = 1; id <= places; ++id) table.put(id, "statement " + std::to_string(id), false);
  for (uint32_t id = 1; id <= places; ++id) ASSERT_NE(table.find(id), nullptr) << id;
  EXPECT_EQ(table.find(17)->text, "statement 17");
  table.put(17 + places, "newer", false);
  EXPECT_EQ(table.find(17), nullptr);
  EXPECT_EQ(table.find(17 + places)->text, "newer");
  table.forget(17 + places);
  table.forget(18);
  EXPECT_EQ(table.find(18), nullptr);
  size_t bytes = 0;
  for (uint32_t id = 1; id <= places; ++id) bytes += table.find(id) != nullptr ? table.find(id)->text.size() : 0;
  EXPECT_EQ(table.text_bytes(), bytes);
  table.clear();
  EXPECT_EQ(table.text_bytes(), 0u);
}

}  // namespace
}  // namespace tapline::mysql_test
