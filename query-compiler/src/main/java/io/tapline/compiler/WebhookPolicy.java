package io.tapline.compiler;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Where alerts may be posted, by the inventory's section {@code webhooks}: a list of hosts, with a
 * port or for any. Without the section they may go anywhere. Immutable.
 *
 * @param hosts null for any
 */
record WebhookPolicy(List<String> hosts) {
  static final WebhookPolicy ANY = new WebhookPolicy(null);

  private static final String HOST = "([\\p{L}\\p{N}_.-]+|\\[[0-9a-fA-F:.]+\\])(:[0-9]{1,5})?";

  /** REQUIRES: not null. */
  static WebhookPolicy read(JsonNode section) {
    if (section.isMissingNode()) {
      return ANY;
    }
    List<String> hosts = new ArrayList<>();
    for (JsonNode host : section) {
      if (!host.isTextual() || !host.asText().matches(HOST)) {
        throw new IllegalArgumentException(
            "inventory, webhooks: '%s' is no host or host:port".formatted(host.asText()));
      }
      hosts.add(host.asText().toLowerCase(Locale.ROOT));
    }
    if (!section.isArray() && !section.isNull()) {
      throw new IllegalArgumentException("inventory, webhooks: must be a list of hosts");
    }
    return new WebhookPolicy(List.copyOf(hosts));
  }

  boolean allows(String url) {
    if (hosts == null) {
      return true;
    }
    URI uri;
    try {
      uri = URI.create(url);
    } catch (IllegalArgumentException e) {
      return false;
    }
    if (uri.getHost() == null) {
      return false;
    }
    String host = uri.getHost().toLowerCase(Locale.ROOT);
    int standard = "https".equalsIgnoreCase(uri.getScheme()) ? 443 : 80;
    int port = uri.getPort() < 0 ? standard : uri.getPort();
    return hosts.contains(host) || hosts.contains(host + ":" + port);
  }

  String expected() {
    return hosts.isEmpty() ? "none" : String.join(", ", hosts);
  }
}
