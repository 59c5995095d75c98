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
    assertThat(tokens.find(HASH, Instant.EPOCH)).as("the hash is not a secret").isEmpty();
  }

  @Test
  void tenantsHaveTheConfiguredOrTheDefaultQuota() {
    Tokens tokens =
        Tokens.read(
            """
            tokens:
              - {tenant: web, role: analyst, subnets: [10.0.2.0/24], sha256: %s}
              - {tenant: db, role: viewer, subnets: [10.0.3.0/24], sha256: %s}
              - {tenant: ops, role: admin, sha256: %s}
            tenants:
              web: {queries: 2, watches: 9, requests_per_second: 7, trigger_groups: 1000, trigger_percent: 20}
              gone: {queries: 0}
            """
                .formatted(HASH, Token.hash("two"), Token.hash("three")));
    assertThat(quota(tokens, "secret"))
        .isEqualTo(new Quota(2, Quota.USUAL.eventStreams(), 9, 7, 1000, 20));
    assertThat(quota(tokens, "two")).isEqualTo(Quota.USUAL);
    assertThat(quota(tokens, "three")).isEqualTo(Quota.NONE);
    assertThat(tokens.quota("web").triggerPercent()).isEqualTo(20);
    assertThat(tokens.quota("web").eventStreams()).isEqualTo(Integer.MAX_VALUE);
    assertThat(tokens.quota("db")).isEqualTo(Quota.NONE);
  }

  private static Quota quota(Tokens tokens, String secret) {
    return tokens.find(secret, Instant.EPOCH).orElseThrow().quota();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{queries: -1} | tenant web: queries must be a whole number of at least 0",
        "{requests_per_second: 0} | tenant web: requests_per_second must be a whole number of at least 1",
        "{event_streams: many} | tenant web: event_streams must be a whole number",
        "{streams: 3} | tenant web: unknown member \"streams\"",
        "{trigger_groups: 0} | tenant web: trigger_groups must be a whole number of at least 1",
        "{trigger_percent: -1} | tenant web: trigger_percent must be a whole number of at least 0",
      })
  void errorsInAQuotaAreReported(String entry, String message) {
    assertThatThrownBy(() -> Tokens.read("tokens: []\ntenants: {web: " + entry + "}"))
        .hasMessageContaining(message);
  }

  @Test
  void secretsAreLongAndUnique() {
    assertThat(Token.newSecret()).hasSizeGreaterThan(45).isNotEqualTo(Token.newSecret());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tenant: web, role: boss, subnets: [10.0.2.0/24] | role must be viewer, analyst or admin",
        "tenant: web, role: analyst | subnets: name the networks that the token may see",
        "tenant: web, role: admin, subnets: [10.0.2.0/24] | an admin sees everything",
        "tenant: web, role: analyst, subnets: [10.0.2.1/24] | 10.0.2.1/24 is not a network",
        "tenant: Web, role: admin | tenant must match",
        "tenant: q, role: admin | \"q\" is reserved",
        "tenant: web, role: admin, expires: soon | expires: write a day",
        "tenant: web, role: admin, rôle: x | unknown member",
      })
  void errorsInAnEntryAreReported(String entry, String message) {
    assertThatThrownBy(() -> Tokens.read("tokens: [{" + entry + ", sha256: " + HASH + "}]"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("token 1: ")
        .hasMessageContaining(message);
  }

  @Test
  void namesAndHashesAreUnique() {
    String entry = "{name: ops, tenant: ops, role: admin, sha256: %s}";
    String one = entry.formatted(HASH);
    String sameName = entry.formatted(Token.hash("two"));
    String sameHash = one.replace("name: ops", "name: other");
    assertThatThrownBy(() -> Tokens.read("tokens: [%s, %s]".formatted(one, sameName)))
        .hasMessageContaining("token 2: name: another token has the same name");
    assertThatThrownBy(() -> Tokens.read("tokens: [%s, %s]".formatted(one, sameHash)))
        .hasMessageContaining("token 2: sha256: another token has the same hash");
  }

  @ParameterizedTest
  @CsvSource({"token: [], nothing else", "'tokens: [', not YAML", "'', nothing else"})
  void errorsInAFileAreReported(String text, String message) {
    assertThatThrownBy(() -> Tokens.read(text)).hasMessageContaining(message);
  }
}
