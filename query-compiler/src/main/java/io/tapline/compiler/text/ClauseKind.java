package io.tapline.compiler.text;

import io.tapline.compiler.text.grammar.TaplineQueryParser;
import java.util.Arrays;
import java.util.List;

/** The clauses in their order within a query. */
public enum ClauseKind {
  USE(TaplineQueryParser.USE, "USE"),
  PARSE(TaplineQueryParser.PARSE, "PARSE"),
  FROM(TaplineQueryParser.FROM, "FROM"),
  TO(TaplineQueryParser.TO, "TO"),
  AT(TaplineQueryParser.AT, "AT"),
  VLAN(TaplineQueryParser.VLAN, "VLAN"),
  TENANT(TaplineQueryParser.TENANT, "TENANT"),
  WHERE(TaplineQueryParser.WHERE, "WHERE"),
  LIMIT(TaplineQueryParser.LIMIT, "LIMIT"),
  SAMPLE(TaplineQueryParser.SAMPLE, "SAMPLE"),
  PROCESS(TaplineQueryParser.PROCESS, "PROCESS");

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
