package io.tapline.compiler.catalogue;

import io.tapline.compiler.text.Names;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The parsers that monitors can run, as the native build lists them in {@code parsers.json}.
 *
 * @param parsers in the order of the file
 */
public record Catalogue(List<ParserInfo> parsers) {
  /** Parser names by alias, which is the NetAlytics paper's spelling. */
  public static final Map<String, String> PARSER_ALIASES = Map.of("mysql", "mysql_query");

  /** Field names by alias: the NetAlytics paper's spellings and similar ones. */
  public static final Map<String, String> FIELD_ALIASES =
      Map.of(
          "get", "url",
          "destip", "dst_ip",
          "srcip", "src_ip",
          "destport", "dst_port",
          "srcport", "src_port");

  public Catalogue {
    parsers = List.copyOf(parsers);
  }

  /**
   * Reads the JSON text of {@code parsers.json}. Ignores unknown keys, which newer monitors may
   * add.
   *
   * @throws IllegalArgumentException if the text is invalid; the message says where
   */
  public static Catalogue fromJson(String json) {
    return CatalogueReader.read(json);
  }

  /**
   * Returns the parser with this name. Ignores case, treats '-' as '_', and accepts {@link
   * #PARSER_ALIASES}.
   */
  public Optional<ParserInfo> parser(String name) {
    String normal = Names.normal(name);
    Optional<ParserInfo> parser = named(normal);
    return parser.isPresent()
        ? parser
        : Optional.ofNullable(PARSER_ALIASES.get(normal)).flatMap(this::named);
  }

  private Optional<ParserInfo> named(String normal) {
    return parsers.stream()
        .filter(parser -> Names.normal(parser.name()).equals(normal))
        .findFirst();
  }

  /** Returns the names of all parsers, in the order of the file. */
  public List<String> names() {
    return parsers.stream().map(ParserInfo::name).toList();
  }

  /** Returns the field that a query's word refers to in a parser's tuples, by name or alias. */
  public static Optional<FieldInfo> field(ParserInfo parser, String word) {
    String normal = Names.normal(word);
    Optional<FieldInfo> field =
        parser.fields().stream().filter(one -> Names.normal(one.name()).equals(normal)).findFirst();
    return field.isPresent()
        ? field
        : Optional.ofNullable(FIELD_ALIASES.get(normal)).flatMap(parser::field);
  }
}
