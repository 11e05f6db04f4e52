/* test_gen_errors.c -- an error in a template costs one line, which names the template's line. */
#define _GNU_SOURCE
#include "gen_fixture.h"
#include "random.h"

/* Replaces `what` of the small template by `with`; words and line are those of the error. */
typedef struct breakage {
  const char *what, *with, *words;
  int line;
} breakage;

static void opens_with(const breakage *k) {
  gen_template *t;
  err e = {0};
  char place[160];
  int rc = mini_open(NULL, k->what, k->with, &t, &e);
  if (rc != ERR_TEMPLATE || !strstr(e.message, k->words) || strchr(e.message, '\n')) {
    fail_msg("%s: got %s '%s', wanted '%s'", k->with, err_name(rc), e.message, k->words);
  }
  snprintf(place, sizeof place, "%s:%d", folder_path("mini.lua"), k->line);
  if (strcmp(place, e.place)) {
    fail_msg("%s: at %s, wanted %s", k->with, e.place, place);
  }
}

static void check_all(const breakage *list, size_t n) {
  for (size_t i = 0; i < n; i++) {
    opens_with(&list[i]);
  }
}
#define CHECK_ALL(list) check_all(list, sizeof list / sizeof *list)

TEST(lua_errors_have_their_line) {
  static const breakage list[] = {
      {"version = 3,", "version = ,", "unexpected symbol near ','", 3},
      {"version = 3,", "version = undefined_thing,", "there is no 'undefined_thing' here", 3},
      {"version = 3,", "version = error('stop'),", "stop", 3},
      {"version = 3,", "version = error({}),", "failed with a table instead of a message", 3},
      {"version = 3,", "version = nil + 1,", "attempt to perform arithmetic on a nil value", 3},
      {"return {", "return nil, {", "a template returns one table", 1},
      {"version = 3,", "version = 3 name", "expected", 3},
  };
  CHECK_ALL(list);
}

TEST(keys_are_known_and_complete) {
  static const breakage list[] = {
      {"version = 3,", "versio = 3,", "'versio' means nothing here; did you mean 'version'?", 3},
      {"version = 3,", "", "'version' is missing here", 1},
      {"version = 3,", "version = 3, 7,", "here belong keys with names", 1},
      {"version = 3", "version = 'three'", "version must be a whole number", 3},
      {"version = 3", "version = 3.5", "version must be a whole number", 3},
      {"name = 'mini'", "name = 7", "name must be text in quotes, not a number", 2},
      {"name = 'mini'", "name = 'a b'", "'a b' is not a name", 2},
      {"name = 'mini'", "name = 'while'", "'while' is a word of Lua", 2},
      {"name = 'mini'", "name = 'double'", "'double' is a word of CUDA C++", 2},
      {"brief = 'y = factor x'", "brief = {}", "brief must be text in quotes, not a table", 4},
      {"cases = {", "options = { '-I/etc' }, cases = {", "'-I/etc' is not a compiler option", 40},
      {"cases = {", "options = { '--fmad' }, cases = {", "'--fmad' is not a compiler option", 40},
      {"cases = {", "options = { '--ptxas-options=-O3,-o=x' }, cases = {", "'--ptxas-options", 40},
      {"cases = {", "options = { '-Da\\nb' }, cases = {", "is not a compiler option", 40},
      {"cases = {", "options = { { '-Da=', 'b' } }, cases = {", "there is no 'b' here", 40},
      {"    source = 'reference", "    counts = 'wrong', source = 'reference",
       "counts names the first", 38},
      {"    source = 'reference",
       "    workspace = { { 'wrong', 'u32', 1 } }, counts = 'wrong', source = 'reference",
       "counts names the first", 38},
      {"cases = {", "metrics = { { 'sec', '1' } }, cases = {", "'sec' already means something", 40},
      {"cases = {", "metrics = { { 'a', 'b' } }, cases = {", "there is no 'b' here", 40},
      {"cases = {", "macros = 1, cases = {", "macros is true or false", 40},
      {"tolerance = { abs", "tolerance = { absolute", "'absolute' means nothing here", 41},
      {"flops = 'n'", "kinds = 'sorted,eqal', flops = 'n'",
       "'eqal' is no kind of data; there are sorted, equal, small", 42},
      {"rel = 0", "", "'rel' is missing here", 41},
      {"emu = {", "emul = {", "'emul' means nothing here; did you mean 'emu'?", 44},
      {"flops = 'n'", "flops = {}", "an expression or a number, not a table", 42},
      {"flops = 'n'", "flops = 'B'", "'B' is a parameter, which this expression cannot read", 42},
      {"flops = 'n'", "flops = 'TILE'", "'TILE' is a derived value that parameters affect", 42},
  };
  CHECK_ALL(list);
}

TEST(fields_are_checked) {
  static const breakage list[] = {
      {"{ 'n', 0, 2^33, default = 100 }", "'n'", "a field must be a table, not a string", 6},
      {"{ 'n', 0, 2^33, default = 100 }", "{}", "a field's name is missing", 6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', 0, 5 }", "'default' is missing here", 6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', 0, default = 1 }",
       "the greatest value is missing", 6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', 9, 5, default = 9 }", "above the greatest", 6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', 0, 5, default = 1, class = true }",
       "class = true or 'promise', and of a field of names", 6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', { 'a', 'b' }, default = 'a', class = 1 }",
       "class = true or 'promise', and of a field of names", 6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', 0, 5, default = 1, like = 'a' }",
       "like is for fields of names that are no class", 6},
      {"{ 'n', 0, 2^33, default = 100 }",
       "{ 'n', { 'a', 'b' }, default = 'a', class = true, like = 'a' }",
       "like is for fields of names that are no class", 6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', { 'a', 'b' }, default = 'a', like = 'c' }",
       "like: 'c' is no value of the field 'n'", 6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', { 'a', 'b' }, default = 'a', like = { a = 1 } }",
       "like must be text in quotes, not a number", 6},
      {"{ 'n', 0, 2^33, default = 100 }",
       "{ 'n', { 'a', 'b' }, default = 'a', like = { c = 'a' } }", "a key 'c' means nothing here",
       6},
      {"{ 'n', 0, 2^33, default = 100 }",
       "{ 'n', { 'a', 'b', 'c' }, default = 'a', like = { a = 'b', b = 'c' } }",
       "like: 'a' is like 'b', which is like 'c': name that one", 6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', 0, 5, defult = 1 }", "did you mean 'default'?",
       6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', 0, 2^33, default = -1 }", "n=-1 is out of range",
       6},
      {"{ 'n', 0, 2^33, default = 100 }", "{ 'n', 0, 2^33, default = 'kind' }",
       "there is no 'kind' here", 6},
      {"{ 'fast', 'safe' }", "{ 'fast', 'fast' }", "the same value twice", 7},
      {"{ 'fast', 'safe' }", "{ 'fast', 3 }", "both texts and numbers", 7},
      {"{ 'fast', 'safe' }", "{ 'fast', 'not safe' }", "'not safe' cannot be a choice", 7},
      {"{ 'fast', 'safe' }", "{}", "the list of values is empty", 7},
      {"{ 'fast', 'safe' }", "{ 'fast', true }", "a value must be a whole number", 7},
      {"default = 'fast'", "default = 'slow'", "there is no 'slow' here", 7},
      {"default = 'fast'", "default = 'n'", "kind=a number: kind is one of fast, safe", 7},
      {"{ 'kind',", "{ 'n',", "there are two things called 'n'", 7},
      {"{ 'kind',", "{ '_kind',", "'_kind' is not a name", 7},
      {"{ 'kind',", "{ 'min',", "'min' already means something", 7},
      {"{ 'kind',", "{ 'dev_sms',", "'dev_sms' already means something", 7},
      {"'n=10'", "'n=ten'", "n=ten: n is a whole number", 44},
      {"'n=2^20 kind=safe'", "'m=2'", "unknown field 'm'", 44},
  };
  CHECK_ALL(list);
}

TEST(arguments_are_checked) {
  static const breakage list[] = {
      {"{ 'n', 'i64', value = 'n' }", "{ 'n', 'i64', value = 'n + 1' }", "'n' is a field too", 11},
      {"{ 'n', 'i64', value = 'n' }", "{ 'n', 'i64', sample = 3 }", "'n' is a field too", 11},
      {"{ 'n', 'i64', value = 'n' }", "{ 'n', 'int', value = 'n' }", "'int' is not an element type",
       11},
      {"{ 'n', 'i64', value = 'n' }", "{ 'n', 'kind', value = 'n' }",
       "a value 'fast', which is not", 11},
      {"{ 'n', 'i64', value = 'n' }", "{ 'q', 'n', value = 'n' }",
       "a number and cannot be an element type", 11},
      {"'type', sample = 2", "'type'", "a scalar needs either value", 12},
      {"'type', sample = 2", "'type', sample = 2, value = 2", "a scalar needs either value", 12},
      {"'type', sample = 2", "'type', sample = 'B'", "'B' is a parameter", 12},
      {"{ 'factor'", "{ 'B'", "there are two things called 'B'", 12},
      {"{ 'x', 'type', 'in'", "{ 'x', 'type', 'input'", "not \"input\"", 13},
      {"count = 'n', fill", "fill", "'count' is missing here", 13},
      {"count = 'n', fill", "count = 'factr', fill",
       "there is no 'factr' here; did you mean 'factor'?", 13},
      {"{ 'x', 'type', 'in'", "{ 'x', 'type', 'scratch'",
       "scratch memory of kernels is a workspace", 13},
      {"{ 'x', 'type', 'in', count", "{ 'x', 'type', count", "a buffer has a direction", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'random', -1, 1 }", "there is no fill 'random'",
       13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'uniform', -1 }", "fill is {", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'bits', 1, 2 }", "fill is {", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'ramp', 1 }", "fill is {", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'file', '/etc/passwd' }", "cannot fill from \"/etc",
       13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'file', 'a/../b' }", "cannot fill from \"a/../b",
       13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'file' }", "fill is {", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'lua', 'i' }", "here belongs a function(index", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'image', 'nois', width = 1, height = 1 }",
       "there is no image 'nois'; did you mean 'noise'?", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'image', 'noise', width = 1 }",
       "an image has a width and a height", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'image', 'noise', 10, 10 }",
       "this fill is { \"image\", kind, ... }", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'points', 'equal', parts = 'x', cell = 1 }",
       "a key 'cell' means nothing here", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'points', 'equal' }", "'parts' is missing", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'points', 'equal', parts = 'xq' }",
       "parts are letters of \"xyz\"", 13},
      {"fill = { 'uniform', -1, 1 }", "fill = { 'kspace', 'random', parts = 'x', size = { 1 } }",
       "size is a number, or a list of two or three", 13},
      {"'in', count = 'n'", "'in', count = 'n', tolerance = { abs = 1, rel = 1 }",
       "'x' is an input, which must stay as it is", 13},
      {"'out', count = 'n'", "'out', count = 'n', tolerance = { abs = 1 }", "'rel' is missing", 14},
      {"'out', count = 'n'", "'out', count = 'n', fill = { 'constant', 1 }", "'y' is poisoned", 14},
      {"'out', count = 'n'", "'out', count = 'n', overwritten = 'true'", "is for inout buffers",
       14},
      {"'in', count = 'n'", "'in', count = 'n', optional = 'B > 3'", "'B' is a parameter", 13},
      {"{ factor = 'n / 8' }", "{ facto = 1 }", "did you mean 'factor'?", 40},
      {"{ factor = 'n / 8' }", "{ n = 1 }", "a key 'n' means nothing here", 40},
      {"{ factor = 'n / 8' }", "{ factor = 'factor + 1' }", "can read only arguments before it",
       40},
  };
  CHECK_ALL(list);
}

TEST(spaces_are_checked) {
  static const breakage list[] = {
      {"{ 'B', { 32, 64, 128 } }", "{ 'B', { 32, 64, 128 } }, 33",
       "whose first entry is a parameter's name", 17},
      {"{ 32, 64, 128 }", "{ 32, 32 }", "the same value twice", 17},
      {"{ 32, 64, 128 }", "{ 32, 64.5 }", "a value must be a whole number", 17},
      {"{ 32, 64, 128 }", "{ 32, nil, 64 }", "a value is missing here, at place 2 of the list", 17},
      {"{ 'MODE'", "{ 'while'", "a word of Lua", 18},
      {"{ 'MODE'", "{ 'template'", "a word of CUDA C++", 18},
      {"{ 'MODE'", "{ 'kind'", "there are two things called 'kind'", 18},
      {"{ 'TILE', \"B", "{ 'TILE', \"BB", "there is no 'BB' here; did you mean 'B'?", 20},
      {"{ 'TILE', \"B", "{ 'TILE', \"TILE", "there is no 'TILE' here", 20},
      {"{ 'TILE', \"B", "{ 'B', \"B", "there are two things called 'B'", 20},
      {"'TILE <= 256'", "'TILE <='", "a value is missing at the end, in \"TILE <=\"", 21},
      {"'TILE <= 256'", "'TILE <= 256', 3", "a requirement is two texts", 21},
      {"'TILE <= 256'", "'TILE <= 256', advice = 'serve'", "advice can be true or \"search\"", 21},
      {"'TILE <= 256'", "'factor < 3'", "there is no 'factor' here", 21}, /* arguments come later */
      {"default = { B = 32,", "default = { B = 33,", "what is given for B is not one of its values",
       22},
      {"default = { B = 32,", "default = { B = 'wide',",
       "what is given for B is not one of its values", 22},
      {"default = { B = 32,", "default = {", "'B' is missing here", 22},
      {"default = { B = 32,", "default = { B = 32, C = 1,", "a key 'C' means nothing here", 22},
      {"default = {", "untuned = { { B = 32 } }, default = {", "'when' is missing here", 22},
      {"default = {", "untuned = { { when = 'n > 5', B = 33 } }, default = {",
       "what is given for B is not one of its values", 22},
      {"default = {", "untuned = { { when = 'n > 5', C = 1 } }, default = {",
       "a key 'C' means nothing here", 22},
      {"default = {", "untuned = { { when = 'B > 5' } }, default = {", "'B' is a parameter", 22},
      {"default = {", "textbook = { B = 33 }, default = {",
       "what is given for B is not one of its values", 22},
      {"default = {", "textbook = { { B = 32 }, 5 }, default = {",
       "this must be a table, not a number", 22},
      {"default = {", "textbook = { { B = 33 } }, default = {",
       "what is given for B is not one of its values", 22},
      {"default = {", "base = { { B = 33 } }, default = {",
       "what is given for B is not one of its values", 22},
      {"default = {", "base = { { when = 'n > 5' } }, default = {",
       "a key 'when' means nothing here", 22},
      {"default = {", "base = { B = 32 }, default = {", "a key 'B' means nothing here", 22},
  };
  CHECK_ALL(list);
}

TEST(stages_are_checked) {
#define TENSOR(text) "{ 'i32', 'TILE' }", "{ " text " }"
  static const breakage list[] = {
      {"memset = 'sums'", "memset = 'sum'",
       "there is no argument or workspace 'sum'; did you mean 'sums'?", 25},
      {"memset = 'sums'", "memset = 'x'", "memset needs a workspace or an output buffer", 25},
      {"memset = 'sums'", "memset = 'y'", "'nbytes' is missing here", 25},
      {"memset = 'sums'", "memset = 'sums', grid = 1", "a key 'grid' means nothing here", 25},
      {"kernel = 'twice'", "kernel = 'two times'", "'two times' is not a kernel's name", 26},
      {"kernel = 'twice', ", "", "'kernel' is missing here", 26},
      {"smem = '4 * B'", "work = {}", "'work' has one to four entries", 26},
      {"smem = '4 * B'", "work = { 1, 2, 3, 4, 5 }", "'work' has one to four entries", 26},
      {"smem = '4 * B'", "work = { 1, 'q' }", "there is no 'q' here", 26},
      {"grid = 'ceildiv(n, TILE)', ", "", "'grid' is missing here", 26},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'kind'", "a number is needed, not a text, in \"kind\"",
       26},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n > 3'", "a number is needed, not a condition", 26},
      {"smem = '4 * B'", "overlap = 'B'", "a condition is needed, not a number", 26},
      {"{ 'i32', 'TILE' }", "{ 'u8', 'kind' }", "a number is needed, not a text", 27},
      {"when = \"kind == 'safe'\"", "when = 'n'", "a condition is needed, not a number", 25},
      {"grid = 'ceildiv(n, TILE)'", "grid = {}", "'grid' has one to three entries", 26},
      {"grid = 'ceildiv(n, TILE)'", "grid = { 1, 1, 1, 1 }", "'grid' has one to three entries", 26},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'ceildiv(n, factor)'", "'factor' is an argument, which",
       26},
      {"{ 'i32', 'TILE' }", "{ 'i32' }", "an operand is the name", 27},
      {"{ 'i32', 'TILE' }", "12", "an operand is the name", 27},
      {"{ 'i32', 'TILE' }", "{ 'int', 'TILE' }", "'int' is not an element type", 27},
      {TENSOR("tensor = 'z', dims = { 'n' }, box = { 64 }"),
       "there is no argument or workspace 'z'", 27},
      {TENSOR("tensor = 'n', dims = { 'n' }, box = { 64 }"), "'n' is a scalar", 27},
      {TENSOR("tensor = 'x', box = { 64 }"), "'dims' is missing here", 27},
      {TENSOR("tensor = 'x', dims = {}, box = { 64 }"), "'dims' has 0 entries", 27},
      {TENSOR("tensor = 'x', dims = { 'n' }, box = { 64, 64 }"), "'box' has 2 entries", 27},
      {TENSOR("tensor = 'x', dims = { 'n', 2 }, box = { 64, 2 }"), "'strides' is missing here", 27},
      {TENSOR("tensor = 'x', dims = { 'n', 2 }, box = { 8, 2 }, strides = { 'factor' }"),
       "a stride is a whole number; 'factor' is none", 27},
      {TENSOR("tensor = 'x', dims = { 'n' }, box = { 64 }, swizle = 128"),
       "a key 'swizle' means nothing here", 27},
      {"{ 'sums', 'u32', 'ceildiv(n, TILE)' }", "{ 'sums', 'u32' }", "a workspace is", 23},
      {"{ 'sums', 'u32'", "{ 'x', 'u32'", "there are two things called 'x'", 23},
      {"{ kernel = 'slow', grid = 'n'", "{ kernel = 'slow', grid = 'B'", "'B' is a parameter", 37},
      {"source = 'reference @{n}'", "source = ''", "the source is empty", 38},
      {"source = 'reference @{n}'", "default = {}", "a key 'default' means nothing here", 38},
  };
  CHECK_ALL(list);
}

TEST(textures_are_checked) {
  static const breakage list[] = {
      {TENSOR("texture = 'n', dims = { 'n' }"), "'n' is a scalar; a texture is in a buffer", 27},
      {TENSOR("texture = 'x'"), "'dims' is missing here", 27},
      {TENSOR("texture = 'x', dims = {}"), "a texture has 1 to 3 dimensions", 27},
      {TENSOR("texture = 'x', dims = { 'n', 2, 2 }"),
       "a texture of three dimensions needs array = true", 27},
      {TENSOR("texture = 'x', dims = { 'n', 2 }, strides = {}"),
       "strides has an entry for each dimension but the first", 27},
      {TENSOR("texture = 'x', dims = { 'n' }, address = 'wrap'"),
       "address 'wrap' and 'mirror' need coordinates = 'normalized'", 27},
      {TENSOR("texture = 'x', dims = { 'n' }, address = 'repeat'"),
       "address is 'clamp', 'border', 'wrap' or 'mirror', not 'repeat'", 27},
      {TENSOR("texture = 'x', dims = { 'n' }, address = { 'clamp', 'clamp' }"),
       "address has one entry for each of the 1 dimensions", 27},
      {TENSOR("texture = 'x', dims = { 'n' }, filter = 'cubic'"),
       "filter is 'nearest' or 'linear', not 'cubic'", 27},
  };
  CHECK_ALL(list);
}

TEST(calls_are_checked) {
#define CALL(text) "  space =", "  call = { " text " },\n  space ="
  static const breakage list[] = {
      {CALL("'n', 'x', 'y'"), "the call lacks the argument 'factor'", 16},
      {CALL("'n', 'factor', 'y'"), "the call lacks the argument 'x'", 16},
      {CALL("'n', 'factor', 'x', 'y', 'x'"), "the call has 'x' twice", 16},
      {CALL("'n', 'factor', 'x', 'yy'"), "no field or argument 'yy'; did you mean 'y'?", 16},
      {CALL("'n', 'factor', 'x', 'y', kin = 1"), "did you mean 'kind'?", 16},
      {CALL("'n', 'kind', 'factor', 'x', 'y', kind = 'n'"),
       "'kind' is an argument of the call already", 16},
      {CALL("'n', 'factor', 'x', 'y', n = 'm'"), "there is no 'm' here", 16},
      {CALL("'n', 'factor', 'x', 'y', kind = 'B'"), "there is no 'B' here", 16},
      {CALL("'n', 'factor', 'x', 'y', kind = 'n / 2'"), "write // for /", 16},
      {CALL("'n', 'factor', 'x', 'y', kind = 'n > 3 and 1 or 0'"), "must join conditions", 16},
      {CALL("'n', 'factor', 'x', 'y', kind = 'n & 1'"), "C cannot say this", 16},
  };
  CHECK_ALL(list);
}

TEST(expressions_are_checked) {
#define FLOPS(text) "flops = 'n'", "flops = " text
  static const breakage list[] = {
      {FLOPS("''"), "an expression is empty", 42},
      {FLOPS("'n; n'"), "no place for ';'", 42},
      {FLOPS("'n, n'"), "no place for ','", 42},
      {FLOPS("'n) + (n'"), "no place for ')'", 42},
      {FLOPS("'(n'"), "')' is missing at the end", 42},
      {FLOPS("'n n'"), "an operator is missing before 'n'", 42},
      {FLOPS("'n + * 2'"), "a value is missing before '*'", 42},
      {FLOPS("'ceildiv(n,)'"), "a value is missing before ')'", 42},
      {FLOPS("'ceildiv(n)'"), "ceildiv takes 2 arguments, not 1", 42},
      {FLOPS("'n + kind'"), "+: a number is needed, not a text", 42},
      {FLOPS("'x.y'"), "which this expression cannot read", 42},
      {FLOPS("'n.y'"), "no place for '.'", 42},
      {FLOPS("'(\"x\"):rep(9)'"), "no place for ':'", 42},
      {FLOPS("'#\"x\"'"), "no place for '#'", 42},
      {FLOPS("'{}'"), "no place for '{'", 42},
      {FLOPS("'n .. n'"), "no place for '..'", 42},
      {FLOPS("'n = 3'"), "no place for '='", 42},
      {FLOPS("'(function() while true do end end)()'"), "no place for 'function'", 42},
      {FLOPS("'\\'open'"), "no place for", 42},
      {FLOPS("'n $ 3'"), "no place for '$'", 42},
      {FLOPS("'1e'"), "malformed number '1e'", 42},
      {FLOPS("'os'"), "there is no 'os' here", 42},
      {FLOPS("'nn'"), "there is no 'nn' here; did you mean 'n'?, in \"nn\"", 42},
      {FLOPS("'ceildv(n, 2)'"), "did you mean 'ceildiv'?", 42},
  };
  CHECK_ALL(list);
}

/* Errors of a source have the source's own lines, whatever stands before it. */
TEST(sources_are_compiled_at_load) {
  static const breakage list[] = {
      {"first @{B}", "first @{B", "this @{ has no } on its line", 30},
      {"first @{B}", "first @{B -- comment}", "this @{ has no } on its line", 30},
      {"first @{B}", "first @{B +}", "unexpected symbol near ')'", 30},
      {"@ end\n", "@ end end\n", "expected near 'end'", 33},
      {"@ end\n", "\n", "'end' expected", 34},
      {"first @{B}", "@include \"none.cuh\"", "cannot include \"none.cuh\"", 30},
      {"first @{B}", "@include \"../mini.lua\"", "name a file beside the template", 30},
      {"first @{B}", "@include \"mini.lua\"", "", 30},
  };
  check_all(list, 7);
}

/* Everything else is reported when the template is opened. */
TEST(lazy_templates_are_checked) {
  char deep[1000] = "'";
  memset(deep + 1, '(', 300);
  strcat(deep, "1");
  memset(deep + strlen(deep), ')', 300);
  strcat(deep, " < TILE'");
  const char *const wrong[][3] = {
      {"'TILE <= 256'", "'TIL <= 256'", "there is no 'TIL' here; did you mean 'TILE'?"},
      {"'TILE <= 256'", "'TILE <= 256; 1'", "an expression has no place for ';'"},
      {"'TILE <= 256'", "''", "an expression is empty"},
      {"'TILE <= 256'", "'TILE <='", "a value is missing at the end"},
      {"'TILE <= 256'", "'TILE 256'", "an operator is missing before '256'"},
      {"'TILE <= 256'", "'0x < TILE'", "malformed number '0x'"},
      {"'TILE <= 256'", "'MODE > 3'", "'>' cannot compare a text with a number"},
      {"'TILE <= 256'", "'TILE - 5'", "a condition is needed, not a number"},
      {"'TILE <= 256'", "'MODE'", "a condition is needed, not a text"},
      {"'TILE <= 256'", deep, "an expression is too deeply nested"},
      {"\"B * sel(MODE == 'wide', 4, 1)\"", "'B * * 2'", "a value is missing before '*'"},
      {"default = 100", "default = 'n'", "there is no 'n' here"},
      {"first @{B}", "@include \"none.cuh\"", "cannot include \"none.cuh\""},
      {"first @{B}", "@include \"loop.cuh\"", "\"loop.cuh\" includes itself"},
      {"version = 3,", "version = ,", "unexpected symbol near ','"},
  };
  const gen_options lazy = {.lazy = true};
  folder_write("loop.cuh", "@include \"loop.cuh\"\n", 20);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    gen_template *t;
    err e = {0}, early = {0};
    assert_fails(mini_open(NULL, wrong[i][0], wrong[i][1], &t, &early), &early, ERR_TEMPLATE,
                 wrong[i][2]);
    assert_fails(mini_open(&lazy, wrong[i][0], wrong[i][1], &t, &e), &e, ERR_TEMPLATE, wrong[i][2]);
    assert_string_equal(e.message, early.message);
    assert_string_equal(e.place, early.place);
  }
}

TEST(a_file_that_includes_itself_ends) {
  gen_template *t;
  err e = {0};
  folder_write("loop.cuh", "@include \"loop.cuh\"\n", 20);
  assert_fails(mini_open(NULL, "first @{B}", "@include \"loop.cuh\"", &t, &e), &e, ERR_TEMPLATE,
               "\"loop.cuh\" includes itself");
  assert_string_equal(e.place, folder_path("loop.cuh:1"));
}

/* An expression that fails later is reported with its own line and text, at any depth of the
 * space. */
TEST(expressions_that_fail_say_where) {
  static const char *const wrong[][3] = {
      {"'TILE <= 256'", "'n // (B - 64) > -9'", "division by zero, in \"n // (B - 64) > -9\""},
      {"'TILE <= 256'", "'n % (B - 64) > -9'", "division by zero"},
      {"'TILE <= 256'", "'TILE < 0 or 5'", "a condition is needed, not 5"},
      {"'TILE <= 256'", "'B < 0 or MODE'", "a condition is needed, not 'plain'"},
      {"'TILE <= 256'", "'ceildiv(n, B - 64) < 3'", "division by zero"},
      {"'TILE <= 256'", "'log2(B - 64) < 30'", "a number above 0 is needed"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    auto_street s = street_mini(wrong[i][0], wrong[i][1], "");
    gen_space *space;
    assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_TEMPLATE, wrong[i][2]);
    assert_string_equal(s.e.place, folder_path("mini.lua:21"));
    err_clear(&s.e);
    assert_ok(gen_config_parse(s.t, "B=64", &s.c, &s.e), &s.e);
    assert_fails(gen_config_check(s.g, &s.c, &s.e), &s.e, ERR_TEMPLATE, wrong[i][2]);
    assert_string_equal(s.e.place, folder_path("mini.lua:21"));
  }
}

TEST(derived_values_must_be_whole) {
  auto_street s = street_mini("\"B * sel(MODE == 'wide', 4, 1)\"", "'B / 64'", "");
  gen_space *space;
  assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_TEMPLATE,
               "a whole number is needed, not 0.5");
  assert_string_equal(s.e.place, folder_path("mini.lua:20"));
  assert_fails(gen_config_check(s.g, &s.c, &s.e), &s.e, ERR_TEMPLATE,
               "a whole number is needed, not 0.5");
}

TEST(instances_need_every_limit) {
  auto_template *t = NULL;
  gen_problem p;
  gen_instance *g;
  err e = {0};
  assert_ok(gen_open(NULL, "saxpy", &t, &e), &e);
  assert_ok(gen_problem_parse(t, "", &p, &e), &e);
  assert_fails(gen_instance_new(t, &p, h200, N_H200 - 1, &g, &e), &e, ERR_USAGE, "lack dev_warp");
}

TEST(tables_built_by_code_get_the_nearest_line) {
  gen_template *t;
  err e = {0};
  auto_str text = {0};
  mini_with("return {", "local t = {", &text);
  str_add(&text, "t.space[1][2] = {}\nreturn t\n");
  folder_write("mini.lua", text.p, text.n);
  assert_fails(gen_open(NULL, folder_path("mini.lua"), &t, &e), &e, ERR_TEMPLATE,
               "list of values is empty");
  assert_string_equal(e.place, folder_path("mini.lua:17"));
}

TEST(files_that_are_no_templates) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *words;
  } list[] = {{"\033Lua\x54\0\x19\x93", 8, "not a text file"},
              {"\177ELF\0\1\2\3", 8, "unexpected symbol"},
              {"", 0, "returns one table"},
              {"return 7", 8, "returns one table"}};
  gen_template *t;
  err e = {0};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    folder_write("bad.lua", list[i].bytes, list[i].n);
    assert_fails(gen_open(NULL, folder_path("bad.lua"), &t, &e), &e, ERR_TEMPLATE, list[i].words);
  }
  char *huge = malloc(9 << 20);
  memset(huge, ' ', 9 << 20);
  folder_write("bad.lua", huge, 9 << 20);
  free(huge);
  assert_fails(gen_open(NULL, folder_path("bad.lua"), &t, &e), &e, ERR_LIMIT, "larger than");
  assert_fails(gen_open(NULL, folder, &t, &e), &e, ERR_IO, "cannot");
}

/* A template that opened makes its source or says why not. */
static void use(gen_template *t) {
  street s = {.t = t};
  auto_str out = {0};
  size_t body;
  gen_config_default(t, &s.c);
  int rc = gen_problem_parse(t, "", &s.p, &s.e);
  rc = rc ? rc : gen_instance_new(t, &s.p, h200, N_H200, &s.g, &s.e);
  rc = rc ? rc : gen_config_check(s.g, &s.c, &s.e);
  rc = rc ? rc : gen_source_make(s.g, &s.c, &out, &body, &s.e);
  assert_true(!rc || s.e.message[0]);
  gen_instance_free(s.g);
}

/* A template with a few bytes changed opens or is refused with a message of one line. */
TEST(mutations_are_refused_or_open) {
  uint64_t seed = 12345;
  size_t n = strlen(mini_text), opened = 0;
  for (int i = 0; i < 3000; i++) {
    char text[sizeof mini_text];
    memcpy(text, mini_text, sizeof text);
    for (int k = 0; k <= i % 3; k++) {
      static const char bytes[] = "{}()[]'\"@,=-\n0n\0$x";
      text[random_below(&seed, n)] = bytes[random_below(&seed, sizeof bytes - 1)];
    }
    gen_template *t;
    err e = {0};
    const gen_options o = {.max_instructions = 100000, .max_nbytes = 4 << 20, .lazy = i / 3 % 2};
    folder_write("mini.lua", text, n);
    int rc = gen_open(&o, folder_path("mini.lua"), &t, &e);
    if (rc) {
      assert_true(rc == ERR_TEMPLATE || rc == ERR_LIMIT);
      assert_true(e.message[0] && !strchr(e.message, '\n'));
    } else {
      opened++;
      use(t);
      gen_close(t);
    }
  }
  assert_true(opened > 0 && opened < 3000);
}

int main(void) {
  return tests_run_with(NULL, folder_make, folder_remove);
}
