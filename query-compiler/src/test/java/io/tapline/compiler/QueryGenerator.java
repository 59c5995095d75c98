package io.tapline.compiler;

import io.tapline.compiler.text.Names;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Generates random queries that compile, in a variety of spellings. */
final class QueryGenerator {
  private final Random random;

  QueryGenerator(long seed) {
    random = new Random(seed);
  }

  String query() {
    StringBuilder query = new StringBuilder();
    List<String> parsers = parsers();
    String list = String.join(separator(), parsers);
    clause(query, "PARSE", random.nextBoolean() ? list : "(" + list + ")");
    int sides = random.nextInt(3);
    if (sides != 1) {
      clause(query, "FROM", list(4, this::address));
    }
    if (sides != 0) {
      clause(query, "TO", list(30, this::address));
    }
    if (random.nextInt(5) == 0) {
      clause(query, "VLAN", one("7", "100, 200", "4094"));
    }
    if (random.nextInt(5) == 0) {
      clause(query, "TENANT", one("5001", "blue", "Blue, 7", "\"blue\""));
    }
    if (random.nextInt(3) == 0) {
      clause(query, "WHERE", conditions());
    }
    if (random.nextInt(4) > 0) {
      clause(query, "LIMIT", one("90s", "500ms", "2m", "1h", "5000p", "1p", "1.5s", "90S"));
    }
    if (random.nextInt(4) > 0) {
      clause(query, "SAMPLE", one("auto", "*", "0.1", "1", ".5", "AUTO", "0.000001"));
    }
    clause(query, "PROCESS", list(3, this::processor));
    return query.append(random.nextInt(5) == 0 ? comment() : "").toString();
  }

  private List<String> parsers() {
    List<String> all = new ArrayList<>(List.of("http_get"));
    for (String otherName : List.of("tcp_conn_time", "tcp-pkt-size", "MYSQL", "memcached_get")) {
      if (random.nextInt(3) == 0) {
        all.add(random.nextInt(all.size() + 1), otherName);
      }
    }
    // diff-group uses the duration that the first parser reports, so that parser must report one.
    if (all.get(0).equals("tcp-pkt-size")) {
      all.add(all.remove(0));
    }
    return all;
  }

  private void clause(StringBuilder query, String keyword, String rest) {
    query.append(random.nextInt(8) == 0 ? comment() : "");
    query
        .append(random.nextInt(4) == 0 ? keyword.toLowerCase(Locale.ROOT) : keyword)
        .append(space());
    query.append(rest).append(space());
  }

  private String address() {
    String port = one("", "", ":80", ":*", ":65535", ":8000-8099");
    return switch (random.nextInt(8)) {
      case 0 -> "*" + port;
      case 1 -> one("h1", "h2", "H1", "app-server", "app_server", "web", "branch", "\"h1\"") + port;
      case 2 -> "[2001:db8::%x]%s".formatted(random.nextInt(0x10000), port);
      case 3 -> one("2001:db8::1", "::", "2001:DB8:0:0:1:0:0:1", "::ffff:10.0.0.1");
      case 4 -> "2001:db8:%x::/%d%s".formatted(random.nextInt(9), 48 + random.nextInt(80), port);
      case 5 -> "10.%d.0.0/%d%s".formatted(random.nextInt(256), random.nextInt(33), port);
      default -> "10.0.%d.%d%s".formatted(random.nextInt(4), random.nextInt(256), port);
    };
  }

  private String conditions() {
    Supplier<String> condition =
        () ->
            one(
                "status >= 500",
                "method=GET",
                "method != (GET, \"POST\")",
                "response_time_ns > 10ms",
                "response_bytes<=1.5kB",
                "src_ip = 10.0.0.0/8",
                "dst-ip != (h1, 2001:db8::/32)",
                "srcPort < 1024",
                "1024>src_port",
                "status in {404, 500..599}",
                "NOT has(status)",
                "not (status==200 || !(method in (GET, HEAD)))",
                "response_bytes > request_bytes + 1",
                "dst_ip like 10.*.*.1");
    String joint = one(" AND ", " and\n", " && ", " OR ", "||");
    return Stream.generate(condition)
        .limit(1 + random.nextInt(3))
        .collect(Collectors.joining(joint));
  }

  private String processor() {
    List<String> arguments = new ArrayList<>();
    String name = one("top-k", "top_k", "diff-group", "Diff_Group_Avg", "group-sum", "group-count");
    boolean ranks = Names.same(name, "top-k");
    if (ranks) {
      maybe(arguments, "k", one("1", "10", "10000"));
      maybe(arguments, "order", one("asc", "desc", "ASC"));
      maybe(arguments, "key", one("url", "(host, url)", "get", "(url,destIP)"));
    } else {
      maybe(arguments, "group", one("get", "destIP", "(src_ip, dst_ip)", "(\"url\")", "dst-port"));
    }
    if (ranks || name.equals("group-sum")) {
      maybe(arguments, "by", one("response_time_ns", "response_bytes", "status", "response-bytes"));
    }
    // Parsers that emit once a second accept no shorter windows.
    maybe(arguments, "w", one("10s", "1m", "2000ms", "2.5s"));
    maybe(arguments, "s", one("1000ms", "1.25s", "2s"));
    return "("
        + name
        + (arguments.isEmpty() ? "" : one(":", " : "))
        + String.join(separator(), arguments)
        + ")";
  }

  private void maybe(List<String> arguments, String name, String value) {
    if (random.nextInt(3) > 0) {
      int place = random.nextInt(arguments.size() + 1);
      arguments.add(
          place,
          (random.nextInt(6) == 0 ? name.toUpperCase(Locale.ROOT) : name)
              + one("=", " = ")
              + value);
    }
  }

  private String list(int max, Supplier<String> item) {
    return Stream.generate(item)
        .limit(1 + random.nextInt(max))
        .collect(Collectors.joining(separator()));
  }

  private String separator() {
    return one(",", ", ", " ,\n  ", ", /* and */ ");
  }

  private String space() {
    return one(" ", " ", "\n", "\t", "\r\n", "  ", " /* x */ ");
  }

  private String comment() {
    return one("-- a comment\n", "/* several\n   lines */", "/**/", "--\n", "/* é€ */ ");
  }

  private String one(String... choices) {
    return choices[random.nextInt(choices.length)];
  }
}
