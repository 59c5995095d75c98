package io.tapline.compiler.text;

/** Reports missing clauses: a query needs PARSE, at least one of FROM and TO, and PROCESS. */
public final class MissingClauses {
  private MissingClauses() {}

  public static void check(Ast.Query query, Errors errors) {
    if (query.clauses().isEmpty()) {
      report(
          query.end(),
          "the query is empty",
          "PARSE parsers FROM clients TO servers … PROCESS (processor: …)",
          errors);
      return;
    }
    require(ClauseKind.PARSE, "PARSE and the parsers to run", query, errors);
    if (!query.has(ClauseKind.TO)) {
      require(ClauseKind.FROM, "FROM clients, TO servers, or both; * is any", query, errors);
    }
    require(
        ClauseKind.PROCESS, "PROCESS and a processor, for example (top-k: k=10)", query, errors);
  }

  private static void require(ClauseKind kind, String expected, Ast.Query query, Errors errors) {
    if (!query.has(kind)) {
      String missing = kind == ClauseKind.FROM ? "FROM or TO" : kind.keyword;
      report(placeOf(kind, query), missing + " is missing", expected, errors);
    }
  }

  /**
   * Returns the position at which the clause should begin: before the first later clause, or the
   * end.
   */
  private static Span placeOf(ClauseKind kind, Ast.Query query) {
    return query.clauses().stream()
        .filter(clause -> clause.kind().ordinal() > kind.ordinal())
        .map(Ast.Clause::span)
        .findFirst()
        .orElse(query.end());
  }

  private static void report(Span place, String message, String expected, Errors errors) {
    errors.add(place, QueryError.Code.CLAUSE, message, expected, "");
  }
}
