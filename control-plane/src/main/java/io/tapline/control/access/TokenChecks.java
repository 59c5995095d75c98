package io.tapline.control.access;

import io.tapline.compiler.access.Scope;
import java.util.Optional;

/** Checks whether tokens still permit the operations that their holders began. Thread-safe. */
public final class TokenChecks {
  private final Optional<TokenFile> tokens;

  /**
   * Creates checks against these tokens.
   *
   * @param tokens the server's tokens; empty if the server needs none and permits everything
   */
  public TokenChecks(Optional<TokenFile> tokens) {
    this.tokens = tokens;
  }

  /**
   * Returns the reason why an analyst's work has to end; empty if it may continue.
   *
   * @param sha256 hash of the token with which the work began; empty if the server needed none
   *     then, which permits the work permanently
   * @param tenant tenant of the work
   * @param scope addresses that the work covers
   */
  public Optional<String> refusal(String sha256, String tenant, Scope scope) {
    if (tokens.isEmpty() || sha256.isEmpty()) {
      return Optional.empty();
    }
    Optional<Token> token = tokens.get().withHash(sha256);
    if (token.isEmpty()) {
      return Optional.of("its token was revoked, or has expired");
    }
    boolean permits =
        token.get().role().mayActAs(Role.ANALYST)
            && token.get().rights().tenant().equals(tenant)
            && token.get().rights().scope().includes(scope);
    return permits
        ? Optional.empty()
        : Optional.of(
            "its token no longer permits it: the token's role, tenant or subnets changed");
  }
}
