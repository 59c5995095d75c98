package io.tapline.control.cli.console;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import java.util.List;
import org.junit.jupiter.api.Test;

class TextTableTest {
  private static final List<Column> COLUMNS =
      List.of(
          new Column("url", Kind.TEXT),
          new Column("count", Kind.NUMBER),
          new Column("bytes", Kind.NUMBER));

  private static TextTable table(int width, String url) {
    TextTable table = new TextTable(COLUMNS, width);
    table.add(List.of("/", "12", "3"));
    table.add(List.of(url, "7", "45,678"));
    return table;
  }

  @Test
  void numbersAreRightAligned() {
    assertThat(table(0, "/page").render(" "))
        .isEqualTo(" url    count   bytes\n /         12       3\n /page      7  45,678\n");
  }

  @Test
  void textIsCutToFit() {
    String rendered = table(36, "/a/very/long/path/to/a/page").render("");
    assertThat(rendered.lines().toList().get(2)).isEqualTo("/a/very/long/path/to…      7  45,678");
    assertThat(rendered.lines()).allMatch(line -> line.length() <= 36);
  }

  @Test
  void columnsThatDoNotFitAreNamed() {
    String rendered = table(24, "/a/very/long/path/to/a/page").render("");
    assertThat(rendered.lines().toList())
        .containsExactly(
            "url               count",
            "/                    12",
            "/a/very/long/pa…      7",
            "(no room for: bytes)");
  }

  @Test
  void trafficCannotControlTheTerminal() {
    assertThat(table(0, "/\u001b[2Jx\n").render("")).contains("/\\u{1b}[2Jx\\u{a} ");
  }

  @Test
  void aCellIsBounded() {
    String rendered = table(0, "x".repeat(100_000)).render("");
    assertThat(rendered.lines()).allMatch(line -> line.length() < 250);
    assertThat(rendered).contains("x…");
  }
}
