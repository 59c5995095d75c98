package io.tapline.compiler.access;

import io.tapline.compiler.text.Names;
import io.tapline.network.IpPrefix;
import java.net.IDN;
import java.net.URI;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An http or https URL in canonical form, so that alerts are posted to exactly the URL that was
 * checked. The scheme and host are in lower case, names are in ASCII (IDNA) without a trailing dot,
 * IPv4 addresses are four decimal numbers, and IPv6 addresses follow RFC 5952. Rejects user names,
 * fragments, and other notations that some libraries accept as addresses (octal, hexadecimal, fewer
 * than four numbers).
 *
 * @param scheme http or https
 * @param host a name, an IPv4 address, or an IPv6 address without brackets
 * @param port port, from 1
 * @param path path and query, beginning with "/"
 */
public record WebhookUrl(String scheme, String host, int port, String path) {
  private static final Pattern URL = Pattern.compile("(?i)(https?)://([^/?#]+)(.*)");
  private static final Pattern AUTHORITY =
      Pattern.compile("(\\[[^\\[\\]]*]|[^:\\[\\]]+)(?::([0-9]{1,5}))?");
  private static final Pattern PRINTABLE = Pattern.compile("[^\\s\\p{Cntrl}\\\\]*");

  /** A host name. Its last label begins with a letter, so no name resembles an IPv4 address. */
  private static final Pattern NAME =
      Pattern.compile("([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?");

  private static final int LONGEST_NAME = 253;

  /**
   * Parses a URL.
   *
   * @throws IllegalArgumentException if it is invalid; the message is the reason, to follow a colon
   */
  public static WebhookUrl parse(String text) {
    Matcher url = URL.matcher(text);
    require(PRINTABLE.matcher(text).matches() && url.matches(), "it is not an http or https URL");
    String scheme = url.group(1).toLowerCase(Locale.ROOT);
    require(!url.group(2).contains("@"), "it contains a user name");
    Matcher authority = AUTHORITY.matcher(url.group(2));
    require(authority.matches(), "%s is not a host or HOST:PORT".formatted(url.group(2)));
    String host = host(authority.group(1));
    int port =
        authority.group(2) == null ? standardPort(scheme) : Integer.parseInt(authority.group(2));
    require(port >= 1 && port <= 65_535, "%d is not a port".formatted(port));
    return new WebhookUrl(scheme, host, port, path(url.group(3)));
  }

  /**
   * Returns a host in its canonical spelling.
   *
   * @param text a name, an IPv4 address, or an IPv6 address in brackets
   * @throws IllegalArgumentException if it is none of these
   */
  static String host(String text) {
    if (text.startsWith("[")) {
      Optional<IpPrefix> ipv6 = IpPrefix.parse(text.substring(1, text.length() - 1));
      require(ipv6.filter(IpPrefix::isIpv6).isPresent(), text + " is not an IPv6 address");
      return ipv6.orElseThrow().addressText();
    }
    String ascii;
    try {
      ascii = Names.lower(IDN.toASCII(text));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(text + " is not a host name", e);
    }
    String host = ascii.endsWith(".") ? ascii.substring(0, ascii.length() - 1) : ascii;
    boolean isNamed = NAME.matcher(host).matches() && host.length() <= LONGEST_NAME;
    require(
        isNamed || IpPrefix.parse(host).isPresent(),
        text + " is neither a name nor an IPv4 address of four decimal numbers");
    return host;
  }

  private static String path(String text) {
    require(!text.contains("#"), "it has a fragment");
    String path = text.startsWith("/") ? text : "/" + text;
    try {
      return URI.create("http://host" + path).toASCIIString().substring("http://host".length());
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("its path is not valid in a URL", e);
    }
  }

  static int standardPort(String scheme) {
    return scheme.equals("https") ? 443 : 80;
  }

  private static void require(boolean valid, String error) {
    if (!valid) {
      throw new IllegalArgumentException(error);
    }
  }

  boolean isAddress() {
    return IpPrefix.parse(host).isPresent();
  }

  /** Returns the scheme, the host and, unless it is the scheme's default, the port. */
  String origin() {
    String bracketed = host.contains(":") ? "[" + host + "]" : host;
    return scheme + "://" + bracketed + (port == standardPort(scheme) ? "" : ":" + port);
  }

  @Override
  public String toString() {
    return origin() + path;
  }
}
