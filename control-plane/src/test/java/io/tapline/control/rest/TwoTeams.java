package io.tapline.control.rest;

import io.tapline.control.access.Token;
import io.tapline.control.access.TokenFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The tokens of two tenants: ops may do and see everything; web sees only the hosts in 10.0.2.0/24.
 */
final class TwoTeams {
  static final String ADMIN = Token.newSecret();
  static final String WEB = Token.newSecret();

  private TwoTeams() {}

  /**
   * Returns options for a server that accepts these tokens.
   *
   * @param role role of the team web
   */
  static RestOptions options(Path folder, String role) throws IOException {
    String tokens =
        """
        tokens:
          - {tenant: ops, role: admin, sha256: %s}
          - {tenant: web, role: %s, subnets: [10.0.2.0/24], sha256: %s}
        """;
    Path file = folder.resolve("tokens.yaml");
    Files.writeString(file, tokens.formatted(Token.hash(ADMIN), role, Token.hash(WEB)));
    return RestOptions.loopback(0).with(new TokenFile(file));
  }
}
