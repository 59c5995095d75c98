package io.tapline.compiler;

import io.tapline.compiler.access.Rights;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.ClauseKind;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Span;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.ParserArgument;
import io.tapline.schema.proto.Queue;
import java.util.List;
import java.util.Optional;

/**
 * The clauses AT, FROM and TO of a query whose parsers measure queues: AT selects the queues. All
 * packets of a queue are measured; FROM and TO select the flows to report.
 */
final class QueueQuery {
  private final List<ParserInfo> parsers;
  private final Ast.Query query;
  private final Errors errors;
  private final boolean measuresQueues;

  private QueueQuery(List<ParserInfo> parsers, Ast.Query query, Errors errors) {
    this.parsers = parsers;
    this.query = query;
    this.errors = errors;
    this.measuresQueues = measuresQueues(parsers);
  }

  static QueueQuery of(List<ParserInfo> parsers, Ast.Query query, Errors errors) {
    return new QueueQuery(parsers, query, errors);
  }

  /** Returns true if all parsers of the query measure queues. */
  boolean measuresQueues() {
    return measuresQueues;
  }

  /** Returns true if all of these parsers measure queues, and there is at least one. */
  static boolean measuresQueues(List<ParserInfo> parsers) {
    return !parsers.isEmpty() && parsers.stream().allMatch(ParserInfo::queues);
  }

  /**
   * Reports clauses that contradict each other or exceed the caller's rights.
   *
   * @param writtenMatch FROM and TO
   */
  void check(
      Inventory inventory,
      Rights rights,
      Match writtenMatch,
      List<ParserArgument> arguments,
      boolean allParsersKnown) {
    if (query.has(ClauseKind.AT) && allParsersKnown && !measuresQueues) {
      refuseOtherParser();
    }
    if (!mayMeasure(rights) && (query.has(ClauseKind.AT) || measuresQueues)) {
      Span place = spanOf(ClauseKind.AT).orElseGet(() -> query.parsers().get(0).name().span());
      String message =
          query.has(ClauseKind.AT)
              ? "AT measures all traffic of a port"
              : "%s measures all traffic of a port".formatted(parsers.get(0).name());
      String expected = "a token that may see all traffic: network-wide and without subnets";
      errors.add(place, QueryError.Code.FORBIDDEN, message, expected, "");
    } else if (measuresQueues && !query.has(ClauseKind.AT)) {
      errors.warning(
          "%s measures all queues that have taps or that packets report (INT), so the monitor inspects every packet%s; use AT to select queues"
              .formatted(parsers.get(0).name(), MatchReader.mirroringEverywhere(inventory)));
    }
    if (measuresQueues && selects(writtenMatch)) {
      checkFlowUnits(writtenMatch, arguments);
      noteWholeQueues();
    }
  }

  private static boolean mayMeasure(Rights rights) {
    return rights.networkWide() && rights.scope().isEverything();
  }

  private void refuseOtherParser() {
    Optional<ParserInfo> refused = parsers.stream().filter(parser -> !parser.queues()).findFirst();
    String message =
        "AT names queues, and %s does not measure them".formatted(refused.orElseThrow().name());
    spanOf(ClauseKind.AT)
        .ifPresent(
            span -> errors.conflict(span, message, "only parsers of queues, such as queue_flows"));
  }

  /** Reports FROM or TO if it selects by a field that tuples aggregate over. */
  private void checkFlowUnits(Match writtenMatch, List<ParserArgument> arguments) {
    for (ParserArgument argument : arguments) {
      boolean destination = argument.getValue().equals("destination");
      boolean isPair = argument.getValue().equals("pair") && hasPorts(writtenMatch);
      if (argument.getName().equals("flow") && (destination || isPair)) {
        String message =
            "%s(flow=%s) aggregates over all %s, so FROM and TO can't select among them"
                .formatted(
                    argument.getParser(),
                    argument.getValue(),
                    destination ? "senders to a destination" : "ports of two addresses");
        String expected = destination ? "flow=pair, or FROM * TO *" : "addresses without ports";
        errors.conflict(selection(), message, expected);
      }
    }
  }

  private void noteWholeQueues() {
    parsers.stream()
        .filter(parser -> !parser.mainFields().contains("src_ip"))
        .forEach(
            parser ->
                errors.note(
                    "%s describes whole queues: FROM and TO do not restrict its tuples"
                        .formatted(parser.name())));
  }

  /** Returns the queues named in AT. Resolves names only for callers that may use them. */
  List<Queue> read(Inventory inventory, Compiler.Options options) {
    return mayMeasure(options.rights())
        ? QueueReader.read(query.queues(), inventory, options.taps(), errors)
        : List.of();
  }

  /**
   * Returns the match for the query's packets. For queues, it matches everything, since their taps
   * are read completely.
   */
  Match match(Match writtenMatch) {
    return measuresQueues ? Match.getDefaultInstance() : writtenMatch;
  }

  /** Returns the match for the flows to report; empty if all flows are reported. */
  Optional<Match> reported(Match writtenMatch) {
    return measuresQueues && selects(writtenMatch) ? Optional.of(writtenMatch) : Optional.empty();
  }

  private static boolean selects(Match writtenMatch) {
    return writtenMatch.getFromCount() > 0 || writtenMatch.getToCount() > 0;
  }

  private static boolean hasPorts(Match writtenMatch) {
    return writtenMatch.getFromList().stream().anyMatch(QueueQuery::hasPort)
        || writtenMatch.getToList().stream().anyMatch(QueueQuery::hasPort);
  }

  private static boolean hasPort(Address address) {
    return address.getPort() != 0;
  }

  private Span selection() {
    return spanOf(ClauseKind.FROM).or(() -> spanOf(ClauseKind.TO)).orElse(query.end());
  }

  private Optional<Span> spanOf(ClauseKind kind) {
    return query.clauses().stream()
        .filter(clause -> clause.kind() == kind)
        .map(Ast.Clause::span)
        .findFirst();
  }
}
