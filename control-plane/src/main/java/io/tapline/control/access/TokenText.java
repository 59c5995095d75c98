package io.tapline.control.access;

import java.io.StringReader;
import java.util.List;
import java.util.Set;
import org.yaml.snakeyaml.DumperOptions.FlowStyle;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.CollectionNode;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;

/**
 * Edits the text of a token file at the positions that the parser reports: everything else stays as
 * its author wrote it, including comments, order and quotas. Callers must parse the result, since
 * YAML has notations for lists that this class does not handle.
 */
public final class TokenText {
  private static final String TOKENS = "tokens";
  private static final String INDENT = "  ";
  private static final Set<String> NOTHING = Set.of("", "~", "null");

  private final String text;
  private final MappingNode root;

  private TokenText(String text) {
    this.text = text;
    try {
      Node wholeNode = new Yaml().compose(new StringReader(text));
      this.root = wholeNode instanceof MappingNode map ? map : null;
    } catch (YAMLException e) {
      throw new IllegalArgumentException("not YAML: " + e.getMessage(), e);
    }
  }

  /**
   * Appends an entry.
   *
   * @param members members of the entry, such as {@code role: viewer}
   * @throws IllegalArgumentException if the text is not YAML, or its tokens are not a list
   */
  public static String add(String text, List<String> members) {
    return new TokenText(text).add(members);
  }

  /**
   * Removes an entry; {@code index} starts at 0. REQUIRES: the text has an entry with this index.
   */
  public static String remove(String text, int index) {
    TokenText knownText = new TokenText(text);
    return knownText.remove((SequenceNode) knownText.tokens().getValueNode(), index);
  }

  private String add(List<String> members) {
    NodeTuple tokens = root == null ? null : tokens();
    if (tokens == null) {
      return ended(text) + TOKENS + ":\n" + block(INDENT, members);
    }
    return tokens.getValueNode() instanceof SequenceNode list
        ? add(list, members)
        : insteadOf(tokens.getValueNode(), members);
  }

  private String add(SequenceNode list, List<String> members) {
    if (!isFlow(list)) {
      int indent = list.getStartMark().getColumn();
      return withLines(text, end(last(list)), block(" ".repeat(indent), members));
    } else if (!list.getValue().isEmpty()) {
      return replaced(end(last(list)), end(last(list)), ", " + flow(members));
    } else if (isFlow(root)) {
      return replaced(end(list) - 1, end(list) - 1, flow(members));
    }
    return insteadOf(list, members);
  }

  /** Replaces an empty value with a block below its key. */
  private String insteadOf(Node empty, List<String> members) {
    if (empty instanceof ScalarNode scalar && !NOTHING.contains(scalar.getValue())) {
      throw new IllegalArgumentException("\"tokens:\" is not a list");
    }
    String without = replaced(begin(empty), end(empty), "");
    return withLines(without, begin(empty), block(INDENT, members));
  }

  private String remove(SequenceNode list, int index) {
    List<Node> entries = list.getValue();
    Node entry = entries.get(index);
    if (!isFlow(list)) {
      String without = replaced(dash(list, entry), afterLine(text, end(deepest(entry))), "");
      int behindKey = text.indexOf(':', end(tokens().getKeyNode())) + 1;
      return entries.size() > 1 ? without : inserted(without, behindKey, " []");
    } else if (index + 1 < entries.size()) {
      return replaced(begin(entry), begin(entries.get(index + 1)), "");
    }
    return replaced(index == 0 ? begin(entry) : end(entries.get(index - 1)), end(entry), "");
  }

  private NodeTuple tokens() {
    return root.getValue().stream()
        .filter(
            entry -> entry.getKeyNode() instanceof ScalarNode key && key.getValue().equals(TOKENS))
        .findFirst()
        .orElse(null);
  }

  /** Returns the start of the line that contains an entry's dash. */
  private int dash(SequenceNode list, Node entry) {
    int indent = list.getStartMark().getColumn();
    int line = text.lastIndexOf('\n', begin(entry)) + 1;
    while (line > 0 && !text.startsWith(" ".repeat(indent) + "-", line)) {
      line = text.lastIndexOf('\n', line - 2) + 1;
    }
    return line;
  }

  private static Node last(SequenceNode list) {
    return deepest(list.getValue().get(list.getValue().size() - 1));
  }

  /**
   * Returns the last node within an entry. The entry ends where this node ends: the end that the
   * parser reports for a block node is after trailing comments.
   */
  private static Node deepest(Node node) {
    if (node instanceof MappingNode map && !isFlow(map) && !map.getValue().isEmpty()) {
      return deepest(map.getValue().get(map.getValue().size() - 1).getValueNode());
    } else if (node instanceof SequenceNode list && !isFlow(list) && !list.getValue().isEmpty()) {
      return last(list);
    }
    return node;
  }

  private static boolean isFlow(Node node) {
    return node instanceof CollectionNode<?> collection
        && collection.getFlowStyle() == FlowStyle.FLOW;
  }

  private static String block(String indent, List<String> members) {
    return indent + "- " + String.join("\n" + indent + INDENT, members) + "\n";
  }

  private static String flow(List<String> members) {
    return "{" + String.join(", ", members) + "}";
  }

  /** Inserts lines after the line that contains a position. */
  private static String withLines(String text, int place, String lines) {
    int position = afterLine(text, place);
    return ended(text.substring(0, position)) + lines + text.substring(position);
  }

  private static int afterLine(String text, int place) {
    if (place > 0 && text.charAt(place - 1) == '\n') {
      return place;
    }
    int end = text.indexOf('\n', place);
    return end < 0 ? text.length() : end + 1;
  }

  private static String ended(String text) {
    return text.isEmpty() || text.endsWith("\n") ? text : text + "\n";
  }

  private String replaced(int begin, int end, String replacement) {
    return text.substring(0, begin) + replacement + text.substring(end);
  }

  private static String inserted(String text, int position, String furtherText) {
    return text.substring(0, position) + furtherText + text.substring(position);
  }

  private int begin(Node node) {
    return index(node.getStartMark());
  }

  private int end(Node node) {
    return index(node.getEndMark());
  }

  /** Converts the position of a mark, which counts code points, to an index into the text. */
  private int index(Mark mark) {
    return text.offsetByCodePoints(0, mark.getIndex());
  }
}
