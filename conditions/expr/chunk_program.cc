#include "conditions/expr/chunk_program.h"

#include <algorithm>

#include "conditions/expr/wide.h"

namespace tapline::conditions {
namespace {

template <typename Raw, typename Key, typename Map>
void Extract(const uint8_t* at, uint32_t stride, uint32_t count, void* keys, Map map) {
  Key* out = static_cast<Key*>(keys);
  for (uint32_t i = 0; i < count; ++i, at += stride) out[i] = map(LoadAs<Raw>(at));
}

template <typename T>
void ExtractInteger(const Column& column, const uint8_t* at, uint32_t stride, uint32_t count, void* keys) {
  const T flip = column.is_signed() ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0};
  Extract<T, T>(at, stride, count, keys, [flip](T raw) { return static_cast<T>(raw ^ flip); });
}

void And(const ChunkBits& other, ChunkBits* bits) {
  for (size_t i = 0; i < bits->size(); ++i) (*bits)[i] &= other[i];
}
void Or(const ChunkBits& other, ChunkBits* bits) {
  for (size_t i = 0; i < bits->size(); ++i) (*bits)[i] |= other[i];
}
void SetFirst(uint32_t count, ChunkBits* bits) {
  for (uint32_t i = 0; i < bits->size(); ++i) {
    const uint32_t begin = i * 64;
    (*bits)[i] = count >= begin + 64 ? ~uint64_t{0} : count > begin ? (uint64_t{1} << (count - begin)) - 1 : 0;
  }
}

}  // namespace

void ExtractKeys(const Column& column, const uint8_t* rows, uint32_t stride, uint32_t count, void* keys) {
  const uint8_t* at = rows + column.offset;
  switch (column.type) {
    case FieldType::kBool:
      return Extract<uint8_t, uint8_t>(at, stride, count, keys, [](uint8_t v) -> uint8_t { return v != 0; });
    case FieldType::kF32:
      return Extract<float, uint32_t>(at, stride, count, keys, FloatKey32);
    case FieldType::kF64:
      return Extract<double, uint64_t>(at, stride, count, keys, FloatKey);
    case FieldType::kBytes:
    case FieldType::kMac: {
      if (column.bytes == 8)
        return Extract<uint64_t, uint64_t>(at, stride, count, keys, [](uint64_t v) { return __builtin_bswap64(v); });
      for (uint32_t i = 0; i < count; ++i) {
        const uint64_t key = KeyOf(column, rows + size_t{i} * stride);
        std::memcpy(static_cast<uint8_t*>(keys) + size_t{i} * column.key_bytes(), &key, column.key_bytes());
      }
      return;
    }
    default:
      break;
  }
  switch (column.bytes) {
    case 1:
      return ExtractInteger<uint8_t>(column, at, stride, count, keys);
    case 2:
      return ExtractInteger<uint16_t>(column, at, stride, count, keys);
    case 4:
      return ExtractInteger<uint32_t>(column, at, stride, count, keys);
    default:
      return ExtractInteger<uint64_t>(column, at, stride, count, keys);
  }
}

void ChunkScratch::Begin(const ChunkProgram& program, const uint8_t* rows, uint32_t stride, uint32_t count) {
  rows_ = rows;
  stride_ = stride;
  count_ = count;
  ++chunk_;
  if (keys_of_.size() < program.columns()) {
    keys_.resize(program.columns());
    for (auto& buffer : keys_) {
      if (!buffer) buffer = std::make_unique<KeyBuffer>();
    }
    keys_of_.resize(program.columns(), 0);
    presence_.resize(program.schema().presence_bits());
    presence_of_.resize(program.schema().presence_bits(), 0);
  }
  if (bits_of_.size() < program.leaves()) {
    bits_.resize(program.leaves());
    bits_of_.resize(program.leaves(), 0);
  }
}

uint32_t ChunkProgram::AddColumn(const Column& column) {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found != columns_.end()) return static_cast<uint32_t>(found - columns_.begin());
  columns_.push_back(column);
  return static_cast<uint32_t>(columns_.size() - 1);
}

uint32_t ChunkProgram::AddLeaf(const Leaf& leaf) {
  for (uint32_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].leaf.SameAs(leaf)) return i;
  }
  ProgramLeaf compiled{leaf, 0, leaf.ranges, false};
  if (leaf.kind == Leaf::Kind::kKeys) {
    compiled.column = AddColumn(leaf.column);
    KeyRanges opposite = Complement(leaf.ranges, leaf.column.max_key());
    if (opposite.size() < leaf.ranges.size() && leaf.mask == ~uint64_t{0}) {
      compiled.ranges = std::move(opposite);
      compiled.inverted = true;
    }
  }
  leaves_.push_back(std::move(compiled));
  return static_cast<uint32_t>(leaves_.size() - 1);
}

Node ChunkProgram::Renumbered(const Node& node, const std::vector<Leaf>& leaves) {
  Node result = node;
  if (node.kind == Node::Kind::kLeaf) {
    const Leaf& leaf = leaves[node.leaf];
    Clause parts;
    if (leaf.kind == Leaf::Kind::kWide && !leaf.negated && AddParts(leaf, &parts) && !parts.empty()) {
      result.kind = Node::Kind::kAnd;
      for (const Leaf& part : parts) result.children.push_back({Node::Kind::kLeaf, AddLeaf(part), {}});
      return result;
    }
    result.leaf = AddLeaf(leaf);
  }
  for (Node& child : result.children) child = Renumbered(child, leaves);
  return result;
}

uint32_t ChunkProgram::Add(const Expression& expression) {
  roots_.push_back(Renumbered(expression.root(), expression.leaves()));
  return static_cast<uint32_t>(roots_.size() - 1);
}

const void* ChunkProgram::Keys(uint32_t column, ChunkScratch* scratch) const {
  void* keys = scratch->keys_[column]->bytes;
  if (scratch->keys_of_[column] != scratch->chunk_) {
    ExtractKeys(columns_[column], scratch->rows_, scratch->stride_, scratch->count_, keys);
    scratch->keys_of_[column] = scratch->chunk_;
  }
  return keys;
}

void ChunkProgram::CompareKeys(const ProgramLeaf& leaf, ChunkScratch* scratch, ChunkBits* bits) const {
  const void* keys = Keys(leaf.column, scratch);
  const Column& column = columns_[leaf.column];
  const auto compare = scratch->kernels_->Range(column.key_bytes());
  const uint64_t mask = leaf.leaf.mask;
  bits->fill(0);
  for (size_t i = 0; i < leaf.ranges.size(); ++i) {
    ChunkBits part{};
    const KeyRange& range = leaf.ranges[i];
    compare(keys, scratch->count_, mask, range.low, range.high - range.low, i == 0 ? bits->data() : part.data());
    if (i > 0) Or(part, bits);
  }
  if (leaf.inverted) {
    ChunkBits all;
    SetFirst(scratch->count_, &all);
    for (size_t i = 0; i < bits->size(); ++i) (*bits)[i] = all[i] & ~(*bits)[i];
  }
  if (column.presence_bit >= 0) And(Presence(column, scratch), bits);
}

const ChunkBits& ChunkProgram::Presence(const Column& column, ChunkScratch* scratch) const {
  ChunkBits& bits = scratch->presence_[column.presence_bit];
  if (scratch->presence_of_[column.presence_bit] == scratch->chunk_) return bits;
  scratch->presence_of_[column.presence_bit] = scratch->chunk_;
  bits.fill(0);
  for (uint32_t i = 0; i < scratch->count_; ++i)
    bits[i / 64] |= uint64_t{IsPresent(column, scratch->row(i), schema_->presence_offset())} << i % 64;
  return bits;
}

const ChunkBits& ChunkProgram::LeafBits(uint32_t number, ChunkScratch* scratch) const {
  ChunkBits& bits = scratch->bits_[number];
  if (scratch->bits_of_[number] == scratch->chunk_) return bits;
  scratch->bits_of_[number] = scratch->chunk_;
  const ProgramLeaf& leaf = leaves_[number];
  if (leaf.leaf.depends_on_aggregate()) {
    SetFirst(scratch->count_, &bits);
    return bits;
  }
  // Long sets are searched, short ones compared one by one.
  if (leaf.leaf.kind == Leaf::Kind::kKeys && leaf.ranges.size() <= 16) {
    CompareKeys(leaf, scratch, &bits);
    return bits;
  }
  bits.fill(0);
  for (uint32_t i = 0; i < scratch->count_; ++i) {
    if (Evaluate(leaf.leaf, scratch->row(i), *schema_, {}) == Truth::kTrue) bits[i / 64] |= uint64_t{1} << i % 64;
  }
  return bits;
}

void ChunkProgram::SelectNode(const Node& node, ChunkScratch* scratch, ChunkBits* selected) const {
  switch (node.kind) {
    case Node::Kind::kTrue:
      return SetFirst(scratch->count_, selected);
    case Node::Kind::kFalse:
      return selected->fill(0);
    case Node::Kind::kLeaf:
      *selected = LeafBits(node.leaf, scratch);
      return;
    default:
      break;
  }
  const bool is_and = node.kind == Node::Kind::kAnd;
  SelectNode(node.children[0], scratch, selected);
  for (size_t i = 1; i < node.children.size(); ++i) {
    if (is_and && !AnyBit(*selected)) return;
    const Node& child = node.children[i];
    ChunkBits part;
    const bool is_leaf = child.kind == Node::Kind::kLeaf;
    if (!is_leaf) SelectNode(child, scratch, &part);
    const ChunkBits& bits = is_leaf ? LeafBits(child.leaf, scratch) : part;
    is_and ? And(bits, selected) : Or(bits, selected);
  }
}

void ChunkProgram::Select(uint32_t number, ChunkScratch* scratch, ChunkBits* selected) const {
  SelectNode(roots_[number], scratch, selected);
}

}  // namespace tapline::conditions
