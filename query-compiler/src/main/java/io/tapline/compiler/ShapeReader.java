package io.tapline.compiler;

import io.tapline.schema.proto.Shape;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** What PARSE says of a parser's texts: {@code http_get(url=template, host=hash)}. */
final class ShapeReader {
  static final List<String> FORMS = List.of("template", "path", "hash", "omit");

  private ShapeReader() {}

  /** Parsers that don't exist are somebody else's error. */
  static List<Shape> read(List<Ast.Parser> parsers, Catalogue catalogue, Errors errors) {
    List<Shape> shapes = new ArrayList<>();
    Set<String> shaped = new HashSet<>();
    for (Ast.Parser written : parsers) {
      Optional<ParserInfo> parser = catalogue.parser(written.name().text());
      if (parser.isEmpty()) {
        continue;
      }
      for (Ast.Argument argument : written.shapes()) {
        Optional<Shape> shape = shape(parser.get(), argument, errors);
        if (shape.isPresent()
            && !shaped.add(shape.get().getParser() + "." + shape.get().getField())) {
          String message = "%s is given two forms".formatted(shape.get().getField());
          errors.add(argument.name().span(), QueryError.Code.CONFLICT, message, "one", "");
        }
        shape.ifPresent(shapes::add);
      }
    }
    return shapes;
  }

  private static Optional<Shape> shape(ParserInfo parser, Ast.Argument argument, Errors errors) {
    Ast.Word name = argument.name();
    Ast.Word form = argument.values().get(0);
    Optional<FieldInfo> field = Catalogue.field(parser, name.text());
    List<String> texts =
        parser.fields().stream().filter(ShapeReader::isText).map(FieldInfo::name).toList();
    boolean isForm = FORMS.contains(Names.lower(form.text()));
    String expected = texts.isEmpty() ? "no form: it has no texts" : Names.list(texts);
    if (field.isEmpty()) {
      errors.unknown(name, "field of " + parser.name(), expected, texts);
    } else if (!isText(field.get())) {
      String message = "%s of %s is no text".formatted(field.get().name(), parser.name());
      errors.type(name.span(), message, expected);
    }
    if (!isForm) {
      errors.unknown(form, "form", FORMS);
    }
    if (!isForm || field.filter(ShapeReader::isText).isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        Shape.newBuilder()
            .setParser(parser.name())
            .setField(field.get().name())
            .setForm(Shape.Form.valueOf(form.text().toUpperCase(Locale.ROOT)))
            .build());
  }

  /** Times, flows and endpoints are every parser's, and stay. */
  private static boolean isText(FieldInfo field) {
    return field.type() == FieldInfo.Type.STRING && !field.common();
  }
}
