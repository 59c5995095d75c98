package io.tapline.control.rest;

import io.javalin.http.Context;
import io.tapline.control.rest.http.Problem;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Protects a server that trusts its user's browser from foreign web pages. A page may make a
 * browser send requests to this server under a name that the page's owner resolves to it (DNS
 * rebinding, visible in Host) or to its address (request forgery, visible in Origin).
 */
final class Guard {
  /** Content security policy of responses that are not pages. */
  static final String NOTHING = "default-src 'none'; frame-ancestors 'none'";

  private static final Pattern PORT = Pattern.compile(":\\d*$");
  private static final Pattern IPV4 = Pattern.compile("\\d{1,3}(\\.\\d{1,3}){3}");

  private final boolean loopbackOnly;
  private final boolean encrypted;
  private final List<String> names;

  /**
   * Creates the guard of a server.
   *
   * @param options options of the server: if it is bound to a loopback address, only loopback names
   *     are accepted; otherwise, any address and the configured names
   */
  Guard(RestOptions options) throws UnknownHostException {
    this.loopbackOnly = InetAddress.getByName(options.bind()).isLoopbackAddress();
    this.encrypted = options.tls().isPresent();
    this.names = options.names();
  }

  /**
   * Sets the headers of every response, and rejects requests that are intended for another server.
   */
  void check(Context ctx) {
    ctx.header("X-Content-Type-Options", "nosniff");
    ctx.header("Cache-Control", "no-store");
    ctx.header("Content-Security-Policy", NOTHING);
    ctx.header("Cross-Origin-Resource-Policy", "same-origin");
    ctx.header("Referrer-Policy", "no-referrer");
    ctx.header("X-Frame-Options", "DENY");
    if (encrypted) {
      ctx.header("Strict-Transport-Security", "max-age=31536000");
    }
    if (!trusted(hostOf(ctx.header("Host")))) {
      throw Problem.of(
              421,
              "misdirected",
              "The request is for a different server",
              "the Host header does not name this server: use its address or localhost")
          .asException();
    }
    String origin = ctx.header("Origin");
    if (origin != null && !trusted(originHost(origin))) {
      throw Problem.of(
              403,
              "foreign-origin",
              "Requests from pages of other servers are forbidden",
              "the Origin header names another server")
          .asException();
    }
  }

  private static String hostOf(String header) {
    if (header == null) {
      return "";
    }
    return PORT.matcher(header.strip().toLowerCase(Locale.ROOT)).replaceFirst("");
  }

  private static String originHost(String origin) {
    try {
      String host = URI.create(origin).getHost();
      return host == null ? "" : host.toLowerCase(Locale.ROOT);
    } catch (IllegalArgumentException e) {
      return "";
    }
  }

  /**
   * Returns true if a host name or address may denote this server. Checks only the text, without
   * name resolution, which an attacker may control.
   */
  private boolean trusted(String host) {
    if (host.equals("localhost") || host.endsWith(".localhost") || names.contains(host)) {
      return true;
    }
    boolean version4 = IPV4.matcher(host).matches();
    boolean version6 = host.startsWith("[") && host.endsWith("]");
    if (loopbackOnly) {
      return (version4 && host.startsWith("127.")) || host.equals("[::1]");
    }
    return version4 || version6;
  }
}
