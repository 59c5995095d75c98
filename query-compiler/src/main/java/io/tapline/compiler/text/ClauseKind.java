package io.tapline.compiler.text;

import io.tapline.compiler.text.grammar.TaplineQueryLexer;
import java.util.Arrays;
import java.util.List;

/** The clauses in their order within a query. */
public enum ClauseKind {
  USE(TaplineQueryLexer.USE, "USE"),
  PARSE(TaplineQueryLexer.PARSE, "PARSE"),
  FROM(TaplineQueryLexer.FROM, "FROM"),
  TO(TaplineQueryLexer.TO, "TO"),
  VLAN(TaplineQueryLexer.VLAN, "VLAN"),
  TENANT(TaplineQueryLexer.TENANT, "TENANT"),
  WHERE(TaplineQueryLexer.WHERE, "WHERE"),
  LIMIT(TaplineQueryLexer.LIMIT, "LIMIT"),
  SAMPLE(TaplineQueryLexer.SAMPLE, "SAMPLE"),
  PROCESS(TaplineQueryLexer.PROCESS, "PROCESS");

  static final List<String> KEYWORDS = Arrays.stream(values()).map(kind -> kind.keyword).toList();

  final int tokenType;
  public final String keyword;

  ClauseKind(int tokenType, String keyword) {
    this.tokenType = tokenType;
    this.keyword = keyword;
  }

  /** Returns the clause that a token of this type begins, or null. */
  static ClauseKind ofTokenType(int type) {
    for (ClauseKind kind : values()) {
      if (kind.tokenType == type) {
        return kind;
      }
    }
    return null;
  }
}
