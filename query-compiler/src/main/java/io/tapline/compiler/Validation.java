package io.tapline.compiler;

import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.ClauseKind;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import java.util.List;

/**
 * Finds errors in a query that do not depend on parsers, hosts, tenants and rights: invalid values,
 * ranges and forms. Resolves only names of processors and their arguments, which belong to the
 * language.
 *
 * <p>Runs the checks of the compiler's own readers, so the formatter only rejects queries that no
 * catalogue and inventory could make valid, and reports the same errors.
 */
final class Validation {
  private Validation() {}

  static void check(Ast.Query query, Errors errors) {
    query.parsers().forEach(parser -> ShapeReader.checkForms(parser, errors));
    MatchReader.checkWithoutNames(query, errors);
    QueueReader.checkWithoutNames(query.queues(), errors);
    WhereReader.parse(query.where(), errors)
        .ifPresent(where -> WhereReader.checkWithoutFields(where, errors));
    LimitReader.read(query.limit(), errors);
    SampleReader.read(query.sample(), errors);
    checkProcessors(query, errors);
  }

  private static void checkProcessors(Ast.Query query, Errors errors) {
    List<Ast.Processor> processors = query.processors();
    if (ProcessorCompiler.areFewEnough(processors, errors)) {
      int parsers = distinctParsers(query);
      processors.forEach(
          processor -> ProcessorCompiler.checkWithoutFields(processor, parsers, errors));
    }
  }

  /**
   * Returns an upper bound on the number of a query's parsers: two names may be aliases of one
   * parser, and PARSE may be in a named query.
   */
  static int distinctParsers(Ast.Query query) {
    boolean elsewhere = query.use() != null && !query.has(ClauseKind.PARSE);
    return elsewhere
        ? Integer.MAX_VALUE
        : (int)
            query.parsers().stream()
                .map(parser -> Names.normal(parser.name().text()))
                .distinct()
                .count();
  }
}
