package io.tapline.control.access;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.network.IpPrefix;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The tokens in a file.
 *
 * <pre>
 * tokens:
 *   - name: dashboard
 *     tenant: web
 *     role: analyst
 *     subnets: [10.0.2.0/24]
 *     sha256: 5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8
 *     expires: 2027-06-30
 * tenants:
 *   web: {queries: 3, event_streams: 8, requests_per_second: 20}
 * </pre>
 */
public final class Tokens {
  private static final YAMLMapper YAML = new YAMLMapper();
  private static final Set<String> MEMBERS =
      Set.of("name", "tenant", "role", "subnets", "sha256", "expires");

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._@-]{1,64}");

  private final Map<String, Token> byHash;
  private final Map<String, JsonNode> quotas;

  private Tokens(Map<String, Token> byHash, Map<String, JsonNode> quotas) {
    this.byHash = byHash;
    this.quotas = quotas;
  }

  /** Returns the quota that the file sets for a tenant; members that it omits have no limit. */
  public Quota quota(String tenant) {
    return quotas.containsKey(tenant) ? Quota.read(quotas.get(tenant), Quota.NONE) : Quota.NONE;
  }

  /**
   * Parses a file's text.
   *
   * @throws IllegalArgumentException with a description of the error and its token or tenant
   */
  public static Tokens read(String yaml) {
    JsonNode root;
    try {
      root = YAML.readTree(yaml);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not YAML: " + e.getOriginalMessage(), e);
    }
    JsonNode list = root.path("tokens");
    JsonNode tenants = root.path("tenants");
    if (!(list.isArray() || list.isNull()) || root.size() != (tenants.isObject() ? 2 : 1)) {
      throw new IllegalArgumentException(
          "it must contain \"tokens:\", a list, and may contain \"tenants:\", but nothing else");
    }
    Map<String, JsonNode> quotas = quotas(tenants);
    Map<String, Token> byHash = new LinkedHashMap<>();
    Set<String> names = new HashSet<>();
    for (int i = 0; i < list.size(); i++) {
      try {
        Token token = token(list.get(i), quotas);
        if (byHash.put(token.sha256(), token) != null) {
          throw new IllegalArgumentException("sha256: another token has the same hash");
        }
        if (!token.name().isEmpty() && !names.add(token.name())) {
          throw new IllegalArgumentException("name: another token has the same name");
        }
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException("token " + (i + 1) + ": " + e.getMessage(), e);
      }
    }
    return new Tokens(byHash, quotas);
  }

  /** Returns the entries by tenant, after validating all of them. */
  private static Map<String, JsonNode> quotas(JsonNode tenants) {
    Map<String, JsonNode> quotas = new HashMap<>();
    for (Map.Entry<String, JsonNode> tenant : tenants.properties()) {
      try {
        Quota.read(tenant.getValue(), Quota.USUAL);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException("tenant " + tenant.getKey() + ": " + e.getMessage(), e);
      }
      quotas.put(tenant.getKey(), tenant.getValue());
    }
    return quotas;
  }

  private static Token token(JsonNode node, Map<String, JsonNode> quotas) {
    for (Map.Entry<String, JsonNode> member : node.properties()) {
      if (!MEMBERS.contains(member.getKey())) {
        throw new IllegalArgumentException("unknown member \"" + member.getKey() + "\"");
      }
    }
    Role role = role(node.path("role").asText());
    Scope scope = scope(node.path("subnets"));
    if (role != Role.ADMIN && scope.isEverything()) {
      throw new IllegalArgumentException(
          "subnets: name the networks that the token may see; [0.0.0.0/0, \"::/0\"] are all addresses");
    } else if (role == Role.ADMIN && !scope.isEverything()) {
      throw new IllegalArgumentException("subnets: an admin sees everything; leave them out");
    }
    String tenant = node.path("tenant").asText();
    if (tenant.equals(Rights.DEFAULT_TENANT)) {
      throw new IllegalArgumentException("tenant: \"q\" is reserved for callers without a token");
    }
    String sha256 = node.path("sha256").asText().toLowerCase(Locale.ROOT);
    if (!sha256.matches("[0-9a-f]{64}")) {
      throw new IllegalArgumentException("sha256 must be 64 hexadecimal digits");
    }
    String name = node.path("name").asText();
    if (node.has("name") && !NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "name must be 1 to 64 letters, digits, '.', '_', '@' or '-'");
    }
    Quota usualQuota = role == Role.ADMIN ? Quota.NONE : Quota.USUAL;
    return new Token(
        name,
        role,
        new Rights(tenant, role == Role.ADMIN, scope),
        sha256,
        expiry(node.path("expires")),
        quotas.containsKey(tenant) ? Quota.read(quotas.get(tenant), usualQuota) : usualQuota);
  }

  private static Role role(String text) {
    for (Role role : Role.values()) {
      if (role.label().equals(text)) {
        return role;
      }
    }
    throw new IllegalArgumentException("role must be viewer, analyst or admin");
  }

  private static Scope scope(JsonNode subnets) {
    List<IpPrefix> prefixes = new ArrayList<>();
    for (JsonNode subnet : subnets) {
      prefixes.add(
          Scope.prefix(subnet.asText())
              .orElseThrow(
                  () ->
                      new IllegalArgumentException(
                          "subnets: "
                              + subnet.asText()
                              + " is not a network such as 10.0.2.0/24")));
    }
    return new Scope(prefixes);
  }

  /** Parses a day; returns its beginning in UTC, or null if there is none. */
  private static Instant expiry(JsonNode text) {
    if (text.isMissingNode() || text.isNull()) {
      return null;
    }
    try {
      return LocalDate.parse(text.asText()).atStartOfDay(ZoneOffset.UTC).toInstant();
    } catch (DateTimeException e) {
      throw new IllegalArgumentException("expires: write a day such as 2027-06-30", e);
    }
  }

  /** Returns all tokens in the file's order, including expired ones. */
  public List<Token> all() {
    return List.copyOf(byHash.values());
  }

  /** Returns the token with this secret, unless it has expired. */
  public Optional<Token> find(String secret, Instant now) {
    return withHash(Token.hash(secret), now);
  }

  /** Returns the token with this hash, unless it has expired. */
  Optional<Token> withHash(String sha256, Instant now) {
    return Optional.ofNullable(byHash.get(sha256)).filter(token -> !token.isExpired(now));
  }

  /** Returns true if the file contains exactly this token, and the token has not expired. */
  boolean holds(Token token, Instant now) {
    return token.equals(byHash.get(token.sha256())) && !token.isExpired(now);
  }
}
