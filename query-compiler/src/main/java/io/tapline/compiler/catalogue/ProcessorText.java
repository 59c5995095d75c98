package io.tapline.compiler.catalogue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.compiler.catalogue.ProcessorInfo.ArgumentInfo;

/** Formats processors for {@code tapline processors}. */
public final class ProcessorText {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private ProcessorText() {}

  /** Returns one line per processor: name and description. */
  public static String table() {
    StringBuilder out = new StringBuilder();
    for (ProcessorInfo processor : ProcessorCatalogue.all()) {
      out.append("%-15s %s\n".formatted(processor.name(), processor.description()));
    }
    return out.toString();
  }

  /** Returns a multi-line description of a processor and of each argument. */
  public static String describe(ProcessorInfo processor) {
    StringBuilder out = new StringBuilder();
    out.append("%s: %s\n".formatted(processor.name(), processor.description()));
    for (ArgumentInfo argument : processor.arguments()) {
      out.append("\n  %-6s %s\n".formatted(argument.name(), argument.description()));
      out.append("         type     %s\n".formatted(argument.type().text));
      out.append("         values   %s\n".formatted(argument.range()));
      out.append("         default  %s\n".formatted(argument.defaultText()));
    }
    return out.toString();
  }

  /**
   * Returns all processors as {@code
   * {"processors":[{"name","description","arguments":[{"name","type","values","default","description"}]}]}}.
   */
  public static String json() {
    ObjectNode root = MAPPER.createObjectNode();
    ArrayNode processors = root.putArray("processors");
    ProcessorCatalogue.all().forEach(processor -> processors.add(node(processor)));
    return root.toPrettyString();
  }

  /** Returns one processor in the form of {@link #json()}. */
  public static String json(ProcessorInfo processor) {
    return node(processor).toPrettyString();
  }

  private static ObjectNode node(ProcessorInfo processor) {
    ObjectNode node = MAPPER.createObjectNode();
    node.put("name", processor.name()).put("description", processor.description());
    ArrayNode arguments = node.putArray("arguments");
    for (ArgumentInfo argument : processor.arguments()) {
      arguments
          .addObject()
          .put("name", argument.name())
          .put("type", argument.type().text)
          .put("values", argument.range())
          .put("default", argument.defaultText())
          .put("description", argument.description());
    }
    return node;
  }
}
