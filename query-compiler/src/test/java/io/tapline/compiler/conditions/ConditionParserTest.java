package io.tapline.compiler.conditions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.tapline.conditions.Trees;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConditionParserTest {
  private static final Set<String> FIELDS =
      Set.of(
          "time_ns",
          "src_ip",
          "dst_ip",
          "src_ip6",
          "mac",
          "src_port",
          "dst_port",
          "bytes",
          "ttl",
          "protocol",
          "seq",
          "ts",
          "syn",
          "tag",
          "path",
          "hop_ns",
          "queue_depth",
          "in");

  private static String text(String filter) throws ConditionSyntaxException {
    return Trees.text(ConditionParser.parse(filter, FIELDS));
  }

  /**
   * Tests filters from the reference page and the tests that MultiLog nodes accepted when they
   * still parsed filters themselves.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "  \n",
        "dst_port==80",
        "ttl<3",
        "src_ip in 10.1.3.0/24",
        "dst_ip like 192.*.*.1",
        "src_ip=10.1.3.2 && bytes<100B",
        "dst_port==80 || dst_port==443",
        "protocol!=TCP",
        "!(dst_port == 443)",
        "not dst_port in {22, 443} and 3 > ttl",
        "bytes >= 1.5KB && bytes < 1KiB + 500B",
        "time_ns == 1.5ms && time_ns > 1ms",
        "dst_port in 8000..8100",
        "dst_port in [8000, 8080]",
        "dst_port in {80, 8000..8100, 0x50}",
        "mac == 00:11:22:33:44:55 && mac like 00:11:*:*:*:55 && mac in 00:11:22:00:00:00/24",
        "ttl == -5 && ttl in -7..-5",
        "syn == true && syn == 1",
        "true",
        "!false || true == syn",
        "src_ip6 == 2001:db8::1 && src_ip6 in fe80::/10 || src_ip6 == abcd::1",
        "src_ip6 like 2001:db8:*:*:*:*:*:1",
        "tag == \"hello\" && tag < \"help\" && tag != 0x68656c6c6f",
        "src_port == dst_port",
        "bytes-dst_port==10",
        "hop_ns[1] - hop_ns[0] > 10us",
        "path contains 9 && path[0] == 3 && path not contains 4 && path contains {1, 3}",
        "!has(queue_depth)",
        "seq < SEQ && ts > TS + 10ms",
        "bytes > watch_1.SUM",
        "in in {1, 2} and in = 3",
      })
  void conditionsThatNodesAcceptAreAccepted(String filter) throws ConditionSyntaxException {
    String canonical = text(filter);
    assertThat(text(canonical)).isEqualTo(canonical);
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " => ",
      value = {
        "bytes = 5 AND NOT ttl<1 Or has( queue_depth ) => bytes == 5 && !(ttl < 1) ||"
            + " has(queue_depth)",
        "dst_port = (80, 443) => dst_port in {80, 443}",
        "dst_port != {80} => !(dst_port in 80)",
        "dst_port IN (80, 90..95) => dst_port in {80, 90 .. 95}",
        "src_ip = 10.0.0.0/8 => src_ip == 10.0.0.0/8",
        "(a_sum == bytes) => a_sum == bytes",
        "bytes - 5 + 3 in_ > 2 => ",
      })
  void spellingsMeanTheSame(String filter, String canonical) throws ConditionSyntaxException {
    if (canonical == null) {
      assertThatThrownBy(() -> text(filter)).isInstanceOf(ConditionSyntaxException.class);
    } else {
      assertThat(text(filter)).isEqualTo(canonical);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "(dst_port == 80 | 15 | unexpected end | ')'",
        "dst_port == 80) | 14 | unexpected ')' | AND or OR",
        "dst_port == | 11 | unexpected end | a field or a value",
        "dst_port 80 | 9 | unexpected '80' | a comparison",
        "dst_port == 80 # web | 15 | unexpected character | a field, an operator or a value",
        "tag == \"é\" § | 12 | unexpected character | a field, an operator or a value",
        "tag == \"hello | 7 | the quoted string has no closing quote | '\"'",
        "dst_prt | 0 | unknown field 'dst_prt' | a field",
        "has(nothing) | 4 | unknown field 'nothing' | a field",
        "bytes > (1, 2) | 6 | > takes one value | = or != before a list",
        "bytes + 1 in 5 | 0 | 'in' must follow a single field | a field",
        "dst_port in {80 | 15 | unexpected end | '}'",
      })
  void errorsNameTheFaultAndItsPosition(
      String filter, int position, String message, String expected) {
    ConditionSyntaxException error =
        catchThrowableOfType(ConditionSyntaxException.class, () -> text(filter));
    assertThat(error.getMessage()).isEqualTo(message);
    assertThat(error.at()).isEqualTo(position);
    assertThat(error.expected()).isEqualTo(expected);
  }

  @Test
  void hugeAndDeeplyNestedTextsAreRejected() throws ConditionSyntaxException {
    String nested = "(".repeat(99) + "ttl < 3" + ")".repeat(99);
    assertThat(text(nested)).isEqualTo("ttl < 3");
    for (String wrong :
        new String[] {
          "(" + nested + ")",
          "!".repeat(60_000) + "(ttl < 3)",
          " ".repeat(70_000),
          "1".repeat(70_000),
          "ttl<1" + "||ttl<1".repeat(4999),
          "1+".repeat(20) + "ttl < 3",
          "ttl in {" + "1,".repeat(5000) + "1}",
        }) {
      assertThatThrownBy(() -> text(wrong)).isInstanceOf(ConditionSyntaxException.class);
    }
    assertThat(text("ttl == " + "1".repeat(60_000))).hasSize(60_007);
  }
}
