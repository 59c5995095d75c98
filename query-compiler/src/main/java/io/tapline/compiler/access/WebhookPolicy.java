package io.tapline.compiler.access;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.text.Names;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The receivers to which alerts may be posted, from the inventory's {@code webhooks} section:
 *
 * <pre>
 * webhooks:
 *   - https://alerts.example.com
 *   - http://10.0.0.5:8080
 *   - pager.example.com
 *   - {url: "https://alerts.internal", private: true}
 * </pre>
 *
 * <p>An alert's URL must match an entry in scheme, host and port. An entry without a scheme matches
 * http and https; one without a port matches the scheme's default port. Without the section, no
 * alerts may be posted. Immutable.
 *
 * @param entries allowed receivers; if empty, no alerts may be posted
 */
public record WebhookPolicy(List<Entry> entries) {
  public static final WebhookPolicy NONE = new WebhookPolicy(List.of());

  private static final Set<String> MEMBERS = Set.of("url", "private");
  private static final Pattern BARE = Pattern.compile("(\\[[^\\[\\]]*]|[^:/]+)(:[0-9]+)?");

  /**
   * An entry: one receiver, or those for http and https on one host.
   *
   * @param text the entry's URL or host, as in the inventory
   * @param origins scheme, host and port of each receiver
   * @param isPrivate whether alerts may be posted to private addresses of the host; true if the
   *     host is itself an address
   */
  public record Entry(String text, List<WebhookUrl> origins, boolean isPrivate) {
    boolean holds(WebhookUrl url) {
      return origins.stream().anyMatch(origin -> origin.origin().equals(url.origin()));
    }
  }

  /** Reads the inventory's {@code webhooks} section. REQUIRES: it is not null. */
  public static WebhookPolicy read(JsonNode section) {
    boolean empty = section.isMissingNode() || section.isNull();
    if (!empty && !section.isArray()) {
      throw wrong("must be a list of receivers such as https://alerts.example.com");
    }
    List<Entry> entries = new ArrayList<>();
    section.forEach(entry -> entries.add(entry(entry)));
    return new WebhookPolicy(List.copyOf(entries));
  }

  private static Entry entry(JsonNode node) {
    for (Map.Entry<String, JsonNode> member : node.properties()) {
      if (!MEMBERS.contains(member.getKey())) {
        throw wrong("an entry has only url and private, not " + member.getKey());
      }
    }
    JsonNode url = node.isObject() ? node.path("url") : node;
    JsonNode isPrivate = node.path("private");
    if (!url.isTextual()) {
      throw wrong(
          "'%s' is not a receiver such as https://alerts.example.com".formatted(url.asText()));
    } else if (!isPrivate.isMissingNode() && !isPrivate.isBoolean()) {
      throw wrong("private of %s must be true or false".formatted(url.asText()));
    }
    try {
      List<WebhookUrl> origins = origins(url.asText());
      boolean isAddress = origins.get(0).isAddress();
      return new Entry(url.asText(), origins, isAddress || isPrivate.asBoolean());
    } catch (IllegalArgumentException e) {
      throw wrong("'%s' is not a receiver: %s".formatted(url.asText(), e.getMessage()));
    }
  }

  private static List<WebhookUrl> origins(String text) {
    Matcher bare = BARE.matcher(text);
    if (bare.matches()) {
      return List.of(WebhookUrl.parse("https://" + text), WebhookUrl.parse("http://" + text));
    }
    WebhookUrl url = WebhookUrl.parse(text);
    if (!url.path().equals("/")) {
      throw new IllegalArgumentException(
          "it has a path; alerts may be posted to all paths of a receiver");
    }
    return List.of(url);
  }

  private static IllegalArgumentException wrong(String message) {
    return new IllegalArgumentException("inventory, webhooks: " + message);
  }

  /** Returns the entry that allows alerts to be posted to a URL. */
  public Optional<Entry> entry(WebhookUrl url) {
    return entries.stream().filter(entry -> entry.holds(url)).findFirst();
  }

  public String expected() {
    return entries.isEmpty()
        ? "none: the inventory lists no webhooks"
        : "one of the inventory's webhooks: "
            + Names.list(entries.stream().map(Entry::text).toList());
  }
}
