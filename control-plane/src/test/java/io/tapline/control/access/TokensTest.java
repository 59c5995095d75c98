package io.tapline.control.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TokensTest {
  private static final String HASH = Token.hash("secret");

  @Test
  void aTokenIsFoundByItsSecretUntilItExpires() {
    Tokens tokens =
        Tokens.read(
            "tokens: [{tenant: web, role: analyst, subnets: [10.0.2.0/24], expires: 2027-01-01, sha256: "
                + HASH
                + "}]");
    Token token = tokens.find("secret", Instant.parse("2026-12-31T23:59:59Z")).orElseThrow();
    assertThat(token.role()).isEqualTo(Role.ANALYST);
    assertThat(token.rights().tenant()).isEqualTo("web");
    assertThat(token.rights().networkWide()).isFalse();
    assertThat(token.rights().scope()).hasToString("10.0.2.0/24");
    assertThat(tokens.find("secret", Instant.parse("2027-01-01T00:00:00Z"))).isEmpty();
    assertThat(tokens.find(HASH, Instant.EPOCH)).as("the hash is no secret").isEmpty();
  }

  @Test
  void secretsAreLongAndNeverTheSame() {
    assertThat(Token.newSecret()).hasSizeGreaterThan(45).isNotEqualTo(Token.newSecret());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tenant: web, role: boss, subnets: [10.0.2.0/24] | role: viewer, analyst or admin",
        "tenant: web, role: analyst | subnets: name what it may look at",
        "tenant: web, role: admin, subnets: [10.0.2.0/24] | an admin sees everything",
        "tenant: web, role: analyst, subnets: [10.0.2.1/24] | 10.0.2.1/24 is no network",
        "tenant: Web, role: admin | tenant must match",
        "tenant: q, role: admin | \"q\" is taken",
        "tenant: web, role: admin, expires: soon | expires: a day",
        "tenant: web, role: admin, rôle: x | unknown member",
      })
  void whatIsWrongInAnEntryIsSaid(String entry, String message) {
    assertThatThrownBy(() -> Tokens.read("tokens: [{" + entry + ", sha256: " + HASH + "}]"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("token 1: ")
        .hasMessageContaining(message);
  }

  @ParameterizedTest
  @CsvSource({"token: [], nothing else", "'tokens: [', no YAML", "'', nothing else"})
  void whatIsWrongInAFileIsSaid(String text, String message) {
    assertThatThrownBy(() -> Tokens.read(text)).hasMessageContaining(message);
  }
}
