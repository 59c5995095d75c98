package io.tapline.compiler;

import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.ClauseKind;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Span;
import io.tapline.network.IpPrefix;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Reads FROM and TO: resolves names to addresses. A list that contains {@code *} without a port
 * becomes empty, which matches everything.
 */
final class MatchReader {
  /** Maximum number of addresses on either side after names are resolved. */
  static final int MAX_ADDRESSES = 4096;

  private static final List<ClauseKind> SIDES = List.of(ClauseKind.FROM, ClauseKind.TO);
  private static final Pattern DIGITS_AND_DOTS = Pattern.compile("[0-9.]+");
  private static final Pattern PORT = Pattern.compile("0*[1-9][0-9]{0,4}");
  private static final Pattern PORT_RANGE = Pattern.compile("[0-9]+-[0-9]+");

  /** Matches text that looks like an IPv4 address, even if its numbers are out of range. */
  static final Pattern FOUR_NUMBERS = Pattern.compile("[0-9]+(\\.[0-9]+){3}");

  private final Inventory inventory;
  private final Rights rights;
  private final Errors errors;
  private final boolean namesAreKnown;

  /** For each clause, the first address that exceeds the caller's scope. */
  private final Map<ClauseKind, Ast.Address> beyond = new EnumMap<>(ClauseKind.class);

  private MatchReader(Inventory inventory, Rights rights, Errors errors, boolean namesAreKnown) {
    this.inventory = inventory;
    this.rights = rights;
    this.errors = errors;
    this.namesAreKnown = namesAreKnown;
  }

  /** Checks everything that does not depend on the inventory: addresses, ports and VLANs. */
  static void checkWithoutNames(Ast.Query query, Errors errors) {
    MatchReader reader = new MatchReader(Inventory.empty(), Rights.ALL, errors, false);
    reader.side(ClauseKind.FROM, query.from());
    reader.side(ClauseKind.TO, query.to());
    NetworkReader.vlans(query.vlans(), errors);
  }

  /**
   * Reads the clauses.
   *
   * @param ofQueues whether all parsers measure queues; if so, {@link QueueQuery} checks the rights
   */
  static Match read(
      Ast.Query query,
      Inventory inventory,
      Compiler.Options options,
      boolean ofQueues,
      Errors errors) {
    MatchReader reader = new MatchReader(inventory, options.rights(), errors, true);
    Match match =
        Match.newBuilder()
            .addAllFrom(reader.side(ClauseKind.FROM, query.from()))
            .addAllTo(reader.side(ClauseKind.TO, query.to()))
            .addAllVlans(NetworkReader.vlans(query.vlans(), errors))
            .addAllTenants(NetworkReader.tenants(query.tenants(), inventory, errors))
            .build();
    if (ofQueues) {
      return match;
    } else if (isEverywhere(query.from()) && isEverywhere(query.to())) {
      reader.networkWide(query);
    } else {
      reader.requireScope(query);
    }
    return match;
  }

  /** Requires that all addresses of one side are within the scope, regardless of the other side. */
  private void requireScope(Ast.Query query) {
    for (ClauseKind side : SIDES) {
      List<Ast.Address> writtenAddresses = side == ClauseKind.FROM ? query.from() : query.to();
      if (!isEverywhere(writtenAddresses) && !beyond.containsKey(side)) {
        return;
      }
    }
    Ast.Address place =
        beyond.containsKey(ClauseKind.TO) ? beyond.get(ClauseKind.TO) : beyond.get(ClauseKind.FROM);
    String message = "%s is outside your subnets".formatted(text(place));
    String expected = "FROM or TO within " + rights.scope();
    errors.place(place.span(), QueryError.Code.FORBIDDEN, message, expected, "");
  }

  /** Returns true if a side names no host or network. */
  private static boolean isEverywhere(List<Ast.Address> side) {
    return side.isEmpty() || side.stream().anyMatch(a -> a.kind() == Ast.EndpointKind.ANY);
  }

  /**
   * Returns the end of a warning about a query for all hosts; empty if the inventory has no
   * network.
   */
  static String mirroringEverywhere(Inventory inventory) {
    return inventory.ports().isEmpty()
        ? ""
        : ", and in the inventory's network every edge switch has to mirror";
  }

  private void networkWide(Ast.Query query) {
    Span span =
        query.clauses().stream()
            .filter(clause -> clause.kind() == ClauseKind.FROM || clause.kind() == ClauseKind.TO)
            .map(Ast.Clause::span)
            .findFirst()
            .orElse(query.end());
    if (rights.networkWide() && rights.scope().isEverything()) {
      errors.warning(
          "neither FROM nor TO names a host or network, so the monitor inspects every packet"
              + mirroringEverywhere(inventory));
    } else if (query.has(ClauseKind.FROM) || query.has(ClauseKind.TO)) {
      String expected =
          "a host or network in FROM or TO; network-wide queries need a separate right";
      errors.add(span, QueryError.Code.FORBIDDEN, "this query is network-wide", expected, "");
    }
  }

  private Set<Address> side(ClauseKind kind, List<Ast.Address> addresses) {
    Set<Address> all = new LinkedHashSet<>();
    boolean everything = false;
    for (Ast.Address address : addresses) {
      everything |= address.kind() == Ast.EndpointKind.ANY && !address.hasPort();
      List<Address> resolved = resolve(address);
      if (resolved.stream().anyMatch(this::isBeyond)) {
        beyond.putIfAbsent(kind, address);
      }
      if (!all.addAll(resolved) && !resolved.isEmpty()) {
        errors.note("%s names %s twice".formatted(kind.keyword, text(address)));
      }
      if (all.size() > MAX_ADDRESSES) {
        String message =
            "%s stands for more than %d addresses".formatted(kind.keyword, MAX_ADDRESSES);
        errors.add(
            address.span(),
            QueryError.Code.TOO_LARGE,
            message,
            "prefixes instead of single addresses",
            "");
        return Set.of();
      }
    }
    if (everything && addresses.size() > 1) {
      errors.warning(
          "%s contains *, so its other addresses have no effect".formatted(kind.keyword));
    }
    return everything ? Set.of() : all;
  }

  private boolean isBeyond(Address address) {
    if (rights.scope().isEverything()) {
      return false;
    }
    Optional<IpPrefix> prefix = Scope.prefix(address.getPrefix());
    return prefix.isEmpty() || !rights.scope().holds(prefix.get());
  }

  private static String text(Ast.Address address) {
    String length = address.length() == null ? "" : "/" + address.length().text();
    String port = address.hasPort() ? ":" + address.port().text() : "";
    return address.endpoint().text() + length + port;
  }

  private List<Address> resolve(Ast.Address address) {
    Ports port = ports(address);
    return switch (address.kind()) {
      case ANY -> List.of(with(Address.newBuilder(), port).build());
      case IPV6 -> literal(address, port);
      case WORD -> looksLikeIpv4(address) ? literal(address, port) : named(address, port);
    };
  }

  /** A port range; 0 to 0 stands for any port. */
  private record Ports(int first, int last) {
    static final Ports ANY = new Ports(0, 0);
  }

  private static Address.Builder with(Address.Builder address, Ports ports) {
    address.setPort(ports.first());
    return ports.last() > ports.first() ? address.setLastPort(ports.last()) : address;
  }

  private Ports ports(Ast.Address address) {
    if (!address.hasPort()) {
      return Ports.ANY;
    }
    Ast.Word word = address.port();
    String text = word.text();
    if (PORT_RANGE.matcher(text).matches()) {
      int dash = text.indexOf('-');
      return range(word, text.substring(0, dash), text.substring(dash + 1));
    }
    if (!isPort(text)) {
      boolean isNumber = text.matches("-?[0-9]+");
      String message = "%s is not a port".formatted(Names.quoted(text));
      QueryError.Code code = isNumber ? QueryError.Code.RANGE : QueryError.Code.TYPE;
      errors.add(
          word.span(),
          code,
          message,
          "a port from 1 to 65535, a range such as 8000-8099, or *",
          "");
      return Ports.ANY;
    }
    return new Ports(Integer.parseInt(text), Integer.parseInt(text));
  }

  private static boolean isPort(String text) {
    return PORT.matcher(text).matches() && Integer.parseInt(text) <= 65535;
  }

  private Ports range(Ast.Word word, String first, String last) {
    boolean isRight = isPort(first) && isPort(last);
    if (!isRight || Integer.parseInt(first) > Integer.parseInt(last)) {
      String message = "%s is not a range of ports".formatted(Names.quoted(word.text()));
      String suggestion = isRight ? last + "-" + first : "";
      String expected = "two ports from 1 to 65535, the smaller first";
      errors.add(word.span(), QueryError.Code.RANGE, message, expected, suggestion);
      return Ports.ANY;
    }
    return new Ports(Integer.parseInt(first), Integer.parseInt(last));
  }

  private boolean looksLikeIpv4(Ast.Address address) {
    Ast.Word word = address.endpoint();
    boolean digits = DIGITS_AND_DOTS.matcher(word.text()).matches();
    boolean name =
        namesAreKnown
            ? inventory.find(word.text()).isPresent()
            : !FOUR_NUMBERS.matcher(word.text()).matches();
    return !word.isQuoted() && digits && !name;
  }

  private List<Address> literal(Ast.Address address, Ports port) {
    Ast.Word word = address.endpoint();
    Optional<IpPrefix> ip = IpPrefix.parse(word.text());
    if (ip.isEmpty()) {
      boolean isIpV6 = address.kind() == Ast.EndpointKind.IPV6;
      String message =
          "%s is not an %s address".formatted(Names.quoted(word.text()), isIpV6 ? "IPv6" : "IPv4");
      String expected =
          isIpV6
              ? "for example 2001:db8::1, with a port [2001:db8::1]:80"
              : "four numbers from 0 to 255";
      errors.place(word.span(), QueryError.Code.TYPE, message, expected, "");
      return List.of();
    }
    IpPrefix prefix = withLength(ip.get(), address);
    noteUnclearPort(address, prefix);
    return List.of(with(Address.newBuilder().setPrefix(prefix.toString()), port).build());
  }

  private IpPrefix withLength(IpPrefix ip, Ast.Address address) {
    if (address.length() == null) {
      return ip;
    }
    String digits = address.length().text();
    if (!digits.matches("[0-9]{1,3}") || Integer.parseInt(digits) > ip.longest()) {
      String message =
          "%s is not a valid prefix length for %s"
              .formatted(Names.quoted(digits), address.endpoint().text());
      String expected = "0 to %d".formatted(ip.longest());
      errors.place(address.length().span(), QueryError.Code.RANGE, message, expected, "");
      return ip;
    }
    IpPrefix prefix = ip.shortened(Integer.parseInt(digits));
    if (!prefix.addressText().equals(ip.addressText())) {
      errors.warning(
          "%s/%s has bits beyond its prefix length and means %s"
              .formatted(address.endpoint().text(), digits, prefix));
    }
    return prefix;
  }

  /**
   * Adds a note if the author may have meant an address to end with a port: 2001:db8::1:80 is an
   * address whose last group is 80.
   */
  private void noteUnclearPort(Ast.Address address, IpPrefix prefix) {
    String text = address.endpoint().text();
    int last = text.lastIndexOf(':');
    boolean bare =
        prefix.isIpv6()
            && !address.bracketed()
            && address.length() == null
            && address.port() == null;
    boolean shortened = last > 0 && text.contains("::") && text.charAt(last - 1) != ':';
    if (bare && shortened && text.substring(last + 1).matches("[1-9][0-9]{1,3}")) {
      errors.note(
          "%s is read as an address with any port; for port %s write [%s]:%s"
              .formatted(
                  text,
                  text.substring(last + 1),
                  text.substring(0, last),
                  text.substring(last + 1)));
    }
  }

  private List<Address> named(Ast.Address address, Ports port) {
    Ast.Word word = address.endpoint();
    if (address.length() != null) {
      String message = "a name can't have a prefix length";
      errors.conflict(
          address.length().span(), message, "%s alone, or ip/length".formatted(word.text()));
      return List.of();
    }
    Optional<Inventory.Entry> entry = inventory.find(word.text());
    if (!namesAreKnown) {
      return List.of();
    } else if (entry.isEmpty()) {
      unknownHost(word);
      return List.of();
    }
    Address.Builder one = with(Address.newBuilder(), port).setHost(entry.get().name());
    return entry.get().prefixes().stream()
        .map(prefix -> one.setPrefix(prefix.toString()).build())
        .toList();
  }

  private void unknownHost(Ast.Word word) {
    List<String> names = inventory.names();
    String expected =
        names.isEmpty()
            ? "an address, or an inventory that names this host"
            : "an address or one of the inventory's names: " + Names.list(names);
    errors.unknownPlace(word, "host", expected, names);
  }
}
