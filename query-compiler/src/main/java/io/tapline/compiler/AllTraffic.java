package io.tapline.compiler;

import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.ClauseKind;
import io.tapline.compiler.text.Errors;
import io.tapline.schema.proto.Sampling;
import java.util.List;
import java.util.Optional;

/**
 * Checks queries with parsers that must see all packets, such as {@code link_load}: such a parser
 * could not infer the load of the mirror port from selected or sampled packets.
 */
final class AllTraffic {
  private final ParserInfo parser;
  private final boolean onlyQueues;
  private final Ast.Query query;
  private final Errors errors;

  private AllTraffic(ParserInfo parser, boolean onlyQueues, Ast.Query query, Errors errors) {
    this.parser = parser;
    this.onlyQueues = onlyQueues;
    this.query = query;
    this.errors = errors;
  }

  /**
   * Returns the query's sampling. If a parser must see all packets, disables sampling and reports
   * clauses that select packets as errors.
   */
  static Sampling sampling(List<ParserInfo> parsers, Ast.Query query, Errors errors) {
    Optional<ParserInfo> parser = parsers.stream().filter(ParserInfo::allTraffic).findFirst();
    if (parser.isEmpty()) {
      return SampleReader.read(query.sample(), errors);
    }
    AllTraffic check =
        new AllTraffic(parser.get(), QueueQuery.measuresQueues(parsers), query, errors);
    check.requireAllTraffic();
    return check.unsampled();
  }

  /**
   * Requires that the query selects all packets. If all its parsers measure queues, FROM and TO
   * only select the packets to report.
   */
  private void requireAllTraffic() {
    refuse(ClauseKind.FROM, !onlyQueues && !isEverything(query.from()));
    refuse(ClauseKind.TO, !onlyQueues && !isEverything(query.to()));
    refuse(ClauseKind.VLAN, !query.vlans().isEmpty());
    refuse(ClauseKind.TENANT, !query.tenants().isEmpty());
  }

  private void refuse(ClauseKind kind, boolean selects) {
    if (!selects) {
      return;
    }
    String message =
        "%s must see all packets, but %s selects only some".formatted(parser.name(), kind.keyword);
    query.clauses().stream()
        .filter(clause -> clause.kind() == kind)
        .findFirst()
        .ifPresent(clause -> errors.conflict(clause.span(), message, "FROM * TO *"));
  }

  private static boolean isEverything(List<Ast.Address> side) {
    return side.isEmpty()
        || side.stream()
            .anyMatch(endpoint -> endpoint.kind() == Ast.EndpointKind.ANY && !endpoint.hasPort());
  }

  private Sampling unsampled() {
    Sampling all = Sampling.newBuilder().setMode(Sampling.Mode.OFF).setRate(1).build();
    if (SampleReader.isAuto(query.sample())) {
      errors.note(
          "%s must see all flows, so SAMPLE auto never lowers the rate".formatted(parser.name()));
      return all;
    }
    Sampling writtenSampling = SampleReader.read(query.sample(), errors);
    if (writtenSampling.getMode() == Sampling.Mode.FIXED && writtenSampling.getRate() < 1) {
      String message = "%s must see all flows, but SAMPLE drops some".formatted(parser.name());
      errors.conflict(query.sample().span(), message, "SAMPLE *");
    }
    return all;
  }
}
