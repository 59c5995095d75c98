package io.tapline.compiler;

import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.ClauseKind;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.MissingClauses;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.Syntax;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Expands USE: inserts the clauses of a named query from the inventory, except those that the text
 * itself contains. A named query can't use another.
 */
final class NamedQuery {
  /**
   * Line number given to the first line of a named query: greater than any line number of a query's
   * text, which has at most {@link Syntax#LONGEST} characters.
   */
  private static final int FIRST_LINE = 1_000_000;

  private NamedQuery() {}

  /** Returns the complete query; if it uses no named query, returns it unchanged. */
  static Syntax expand(Syntax syntax, Inventory inventory, Errors errors) {
    Ast.Word use = syntax.query().use();
    if (use == null) {
      return syntax;
    }
    Optional<String> text = inventory.query(use.text());
    if (text.isEmpty()) {
      String names = Names.list(inventory.queries());
      String expected = names.isEmpty() ? "an inventory with \"queries:\"" : names;
      errors.unknown(use, "query", expected, inventory.queries());
      return syntax;
    }
    errors.foreignFrom(FIRST_LINE, use.span(), use.text());
    Syntax named = Syntax.read(text.get(), FIRST_LINE, errors);
    if (named.query().use() != null) {
      errors.conflict(named.query().use().span(), "a named query can't use another", "its clauses");
    }
    Ast.Query wholeQuery = syntax.query().over(named.query());
    if (!errors.any()) {
      MissingClauses.check(wholeQuery, errors);
    }
    return new Syntax(wholeQuery, syntax.tokens());
  }

  /** Returns the formatted text with the named query's clauses. REQUIRES: there are no errors. */
  static String layOut(Syntax writtenSyntax, Inventory inventory) {
    Ast.Word use = writtenSyntax.query().use();
    if (use == null) {
      return Formatter.layOut(writtenSyntax);
    }
    Errors none = new Errors();
    Syntax named = Syntax.read(inventory.query(use.text()).orElseThrow(), FIRST_LINE, none);
    String text =
        java.util.Arrays.stream(ClauseKind.values())
            .filter(kind -> kind != ClauseKind.USE)
            .map(kind -> (writtenSyntax.query().has(kind) ? writtenSyntax : named).clauseText(kind))
            .collect(Collectors.joining(" "));
    return Formatter.layOut(Syntax.read(text, none));
  }
}
