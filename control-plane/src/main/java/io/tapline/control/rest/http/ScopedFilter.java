package io.tapline.control.rest.http;

import io.tapline.compiler.access.Scope;
import io.tapline.network.IpPrefix;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Restricts expressions over headers to a caller's scope of addresses. Such an expression must be
 * well-formed on its own and may refer only to fields of headers: nodes also know aggregates by
 * name, and a comparison with another tenant's aggregate would reveal its value.
 */
final class ScopedFilter {
  private static final Set<String> WORDS =
      Set.of(
          "in",
          "like",
          "contains",
          "not",
          "true",
          "false",
          "TCP",
          "tcp",
          "UDP",
          "udp",
          "ICMP",
          "icmp",
          "ICMP6",
          "icmp6",
          "SEQ",
          "TS");

  /**
   * Outputs of aggregates, which only the condition of a watch may name: they are its own there.
   */
  private static final Set<String> OUTPUTS =
      Set.of(
          "COUNT",
          "SUM",
          "AVG",
          "MIN",
          "MAX",
          "STDEV",
          "DISTINCT",
          "QUANTILE",
          "count",
          "sum",
          "avg",
          "min",
          "max",
          "stdev",
          "distinct",
          "quantile");

  /** Tokens of multilog/expr/token.cc: quoted strings, words, anything else. */
  private static final Pattern TOKEN =
      Pattern.compile("\"[^\"]*\"|[A-Za-z0-9_.:*/%]+|\\s+|.", Pattern.DOTALL);

  private static final Pattern LITERAL =
      Pattern.compile("[0-9*].*|[0-9a-fA-F.*/]*:[0-9a-fA-F:.*/]*", Pattern.DOTALL);

  private final Scope scope;
  private final Set<String> known = new HashSet<>(WORDS);

  /**
   * Filters for a scope.
   *
   * @param fields fields of headers
   */
  ScopedFilter(Scope scope, Set<String> fields) {
    this.scope = scope;
    known.addAll(fields);
  }

  /**
   * Returns the expression combined with the condition that one end of the header's connection is
   * in the scope.
   *
   * @throws ProblemException if the caller may not use the expression
   */
  String of(String filter) {
    require(filter, Set.of());
    return filter.isBlank() ? within() : "(" + filter + ") && (" + within() + ")";
  }

  /** Checks the condition of a watch, which is used unchanged. */
  void requireCondition(String condition) {
    require(condition, OUTPUTS);
  }

  private void require(String expression, Set<String> outputs) {
    int depth = 0;
    boolean closed = true;
    Matcher tokens = TOKEN.matcher(expression);
    while (closed && tokens.find()) {
      String token = tokens.group();
      depth += token.equals("(") ? 1 : token.equals(")") ? -1 : 0;
      closed = depth >= 0 && !token.equals("\"");
      boolean word =
          Character.isLetterOrDigit(token.charAt(0)) || "_.:*/%".indexOf(token.charAt(0)) >= 0;
      if (word
          && !known.contains(token)
          && !outputs.contains(token)
          && !LITERAL.matcher(token).matches()) {
        throw refused("'" + token + "' is no field of a header");
      }
    }
    if (depth != 0 || !closed) {
      throw refused("its brackets or quotes do not match");
    }
  }

  private static ProblemException refused(String why) {
    return Problem.of(
            400, "drill-rejected", "The question makes no sense", "the filter is refused: " + why)
        .asException();
  }

  private String within() {
    return scope.prefixes().stream()
        .flatMap(prefix -> List.of("src", "dst").stream().map(end -> end(end, prefix)))
        .collect(Collectors.joining(" || "));
  }

  private static String end(String end, IpPrefix prefix) {
    return end + (prefix.isIpv6() ? "_ip6 in " : "_ip in ") + prefix;
  }
}
