package io.tapline.control.access;

import io.tapline.compiler.access.Scope;
import java.util.Optional;

/** Checks whether tokens still permit the watches that their holders added. Thread-safe. */
public final class TokenChecks {
  private final Optional<TokenFile> tokens;

  /**
   * Creates the checks.
   *
   * @param tokens the server's tokens; empty if the server requires none and permits everything
   */
  public TokenChecks(Optional<TokenFile> tokens) {
    this.tokens = tokens;
  }

  /**
   * Returns the reason why a watch has to end; empty if it may continue.
   *
   * @param sha256 hash of the token that added the watch; empty if the server required none then,
   *     so the watch may continue forever
   * @param tenant tenant that owns the watch
   * @param scope addresses that the watch covers
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
