package io.tapline.control.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TokenTextTest {
  private static final String FILE =
      """
      # Ours. Ä𝕏
      tokens:   # who
        # the first
        - tenant: ops
          role: admin   # all
          sha256: %1$s

        # the second
        -
          tenant: web
          role: viewer
          subnets:
            - 10.0.2.0/24  # - pages
            - 10.0.3.0/24
          # its hash
          sha256: "%2$s"  # of 2026
        # no more

      # quotas
      tenants:
        web: {queries: 3}   # few
      """
          .formatted(Token.hash("a"), Token.hash("b"));

  private static List<String> entry(String secret) {
    return List.of("tenant: db", "role: admin", "sha256: \"" + Token.hash(secret) + "\"");
  }

  private static List<String> hashes(String text) {
    return Tokens.read(text).all().stream().map(Token::sha256).toList();
  }

  @Test
  void newEntriesAreAppendedBeforeTrailingComments() {
    String newText = TokenText.add(FILE, entry("c"));
    assertThat(hashes(newText)).containsExactly(Token.hash("a"), Token.hash("b"), Token.hash("c"));
    String added = "  - tenant: db\n    role: admin\n    sha256: \"" + Token.hash("c") + "\"\n";
    assertThat(newText).isEqualTo(FILE.replace("  # no more", added + "  # no more"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "# nothing yet",
        "tokens:",
        "tokens: # none\n# quotas\ntenants: {db: {queries: 1}}",
        "tokens: ~\ntenants:\n  db: {queries: 1}\n",
        "tokens: []  # none\ntenants:\n  db: {queries: 1}\n",
        "tenants:\n  db: {queries: 1}",
        "{tokens: [], tenants: {}}",
        "---\ntokens: [\n]\n",
      })
  void theFirstTokenIsAddedToo(String text) {
    String newText = TokenText.add(text, entry("c"));
    assertThat(hashes(newText)).containsExactly(Token.hash("c"));
    text.lines()
        .filter(line -> line.contains("# ") || line.contains("queries"))
        .forEach(line -> assertThat(newText).contains(line.replaceFirst("tokens: *(\\[])?", "")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "tokens:\n- {tenant: a, role: admin, sha256: %s}\ntenants: {}",
        "tenants: {}\ntokens:\n- tenant: a\n  role: admin\n  sha256: %s",
        "tokens: [{tenant: a, role: admin, sha256: %s}] # one\ntenants: {}\n",
        "tokens: [\n  {tenant: a, role: admin, sha256: %s},\n]\n",
        "{tenants: {}, tokens: [{tenant: a, role: admin, sha256: %s}]}",
        "tokens:\r\n  - tenant: a\r\n    role: admin\r\n    sha256: %s\r\ntenants: {}\r\n",
      })
  void ignoresTheFormattingOfLists(String format) {
    String text = format.formatted(Token.hash("a"));
    String two = TokenText.add(text, entry("b"));
    assertThat(hashes(two)).containsExactly(Token.hash("a"), Token.hash("b"));
    String three = TokenText.add(two, entry("c"));
    assertThat(hashes(TokenText.remove(three, 1)))
        .containsExactly(Token.hash("a"), Token.hash("c"));
    assertThat(hashes(TokenText.remove(three, 0)))
        .containsExactly(Token.hash("b"), Token.hash("c"));
    assertThat(hashes(TokenText.remove(three, 2)))
        .containsExactly(Token.hash("a"), Token.hash("b"));
    assertThat(TokenText.remove(two, 1).replace("\r", "").strip())
        .isEqualTo(text.replace("\r", "").strip());
  }

  @Test
  void anEntryIsRemovedAndCommentsStay() {
    String first = TokenText.remove(FILE, 0);
    assertThat(hashes(first)).containsExactly(Token.hash("b"));
    assertThat(first).contains("# the first\n\n", "# the second\n", "# few").doesNotContain("ops");
    String second = TokenText.remove(FILE, 1);
    assertThat(hashes(second)).containsExactly(Token.hash("a"));
    assertThat(second).contains("# the second\n  # no more\n").doesNotContain("10.0.3.0", "# its");
    String none = TokenText.remove(first, 0);
    assertThat(hashes(none)).isEmpty();
    assertThat(none).contains("tokens: []   # who", "# no more", "# few");
    assertThat(hashes(TokenText.add(none, entry("c")))).containsExactly(Token.hash("c"));
  }

  @Test
  void invalidYamlIsReported() {
    assertThatThrownBy(() -> TokenText.add("tokens: [", entry("c")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("not YAML");
  }
}
