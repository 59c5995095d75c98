package io.tapline.compiler;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.text.ErrorRenderer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The catalogue, inventory and options of tests. */
public final class Fixtures {
  public static final Catalogue CATALOGUE = Catalogue.fromJson(resource("parsers.json"));
  public static final Inventory INVENTORY = Inventory.fromYaml(resource("inventory.yaml"));
  public static final Compiler.Options OPTIONS = Compiler.Options.local("q-test");

  private Fixtures() {}

  static CompileResult compile(String text) {
    return Compiler.compile(text, CATALOGUE, INVENTORY, OPTIONS);
  }

  static String errors(String text) {
    return ErrorRenderer.render(text, compile(text).errors());
  }

  static String resource(String name) {
    try (InputStream in = Fixtures.class.getResourceAsStream("/" + name)) {
      if (in == null) {
        throw new IllegalArgumentException("no test resource " + name);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
