package io.tapline.compiler;

import java.util.List;

/**
 * Finds what is wrong with a query whatever parsers, hosts, tenants and rights there are: errors of
 * values, ranges and forms. No name is looked up but those of processors and their arguments, which
 * are the language's own.
 *
 * <p>Each check is the reader's that the compiler uses, so that the formatter refuses a query only
 * if it can't be compiled anywhere, and for the same reason.
 */
final class Validation {
  private Validation() {}

  static void check(Ast.Query query, Errors errors) {
    query.parsers().forEach(parser -> ShapeReader.checkForms(parser, errors));
    MatchReader.checkWithoutNames(query, errors);
    if (WhereReader.isShortEnough(query.where(), errors)) {
      WhereReader.checkWithoutFields(query.where(), errors);
    }
    LimitReader.read(query.limit(), errors);
    SampleReader.read(query.sample(), errors);
    checkProcessors(query, errors);
  }

  private static void checkProcessors(Ast.Query query, Errors errors) {
    List<Ast.Processor> processors = query.processors();
    if (ProcessorCompiler.areFewEnough(processors, errors)) {
      int parsers = distinctParsers(query);
      processors.forEach(each -> ProcessorCompiler.checkWithoutFields(each, parsers, errors));
    }
  }

  /** How many parsers a query names, at most: two names may be of one. */
  static int distinctParsers(Ast.Query query) {
    boolean elsewhere = query.use() != null && !query.has(ClauseKind.PARSE);
    return elsewhere
        ? Integer.MAX_VALUE
        : (int)
            query.parsers().stream()
                .map(each -> Names.normal(each.name().text()))
                .distinct()
                .count();
  }
}
