/* fuzz_graph.c -- libFuzzer target: calls of CUDA graphs and of stream capture, as the library under whole programs
 * (runtime/cudart) gets them. Each byte is a call or chooses one of few handles, some of them NULL; handles
 * of what was destroyed are not used again, as CUDA forbids it. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudart_api.h"

enum {
  GRAPHS = 4,
  NODES = 16,
  EXECS = 3,
  STREAMS = 2,
  EVENTS = 2,
  BYTES = 256,
  CALLS = 200,
  COPIES = 12
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct state {
  const uint8_t *p, *end;
  cudaGraph_t graphs[GRAPHS]; /* the last belongs to a node of another */
  cudaGraphNode_t nodes[NODES];
  int owner[NODES]; /* graph of the node */
  cudaGraphExec_t execs[EXECS];
  cudaStream_t streams[STREAMS];
  cudaEvent_t events[EVENTS];
  cudaGraphConditionalHandle handle;
  bool may_loop;                             /* the handle's word is 0 */
  int n_copies;                              /* of graphs into others, which double them at most */
  char *memory, host[4 * BYTES + BYTES / 4]; /* three rows and a part of one */
} state;

static unsigned next(state *s) {
  return s->p < s->end ? *s->p++ : 0;
}

static void count_call(void *at) {
  ++*(char *)at;
}

static void forget_nodes(state *s, int graph) {
  for (int i = 0; i < NODES; i++) {
    s->nodes[i] = s->owner[i] == graph ? NULL : s->nodes[i];
  }
}

static struct cudaGraphNodeParams params(state *s) {
  static const enum cudaGraphNodeType types[] = {
      cudaGraphNodeTypeEmpty,     cudaGraphNodeTypeMemcpy,      cudaGraphNodeTypeMemset,
      cudaGraphNodeTypeHost,      cudaGraphNodeTypeGraph,       cudaGraphNodeTypeEventRecord,
      cudaGraphNodeTypeWaitEvent, cudaGraphNodeTypeMemAlloc,    cudaGraphNodeTypeMemFree,
      cudaGraphNodeTypeKernel,    cudaGraphNodeTypeConditional, (enum cudaGraphNodeType)77};
  struct cudaGraphNodeParams p = {.type = types[next(s) % (sizeof types / sizeof *types)]};
  const size_t size = next(s), height = next(s) % 4;
  char *const at = s->memory + next(s) % BYTES;
  switch ((int)p.type) {
  case cudaGraphNodeTypeMemcpy:
    p.memcpy.copyParams = (struct cudaMemcpy3DParms){.dstPtr = {at, size, size, height},
                                                     .srcPtr = {s->host, size, size, height},
                                                     .extent = {next(s), height, 1},
                                                     .kind = (enum cudaMemcpyKind)(next(s) % 6)};
    p.memcpy.copyParams.extent.width %= BYTES / 4;
    break;
  case cudaGraphNodeTypeMemset:
    p.memset.dst = at;
    p.memset.elementSize = next(s) % 9;
    p.memset.pitch = size;
    p.memset.width = next(s) == 255 ? SIZE_MAX - size : size;
    p.memset.height = height;
    break;
  case cudaGraphNodeTypeHost:
    p.host.fn = size ? count_call : NULL;
    p.host.userData = s->host;
    break;
  case cudaGraphNodeTypeGraph:
    p.graph.graph = s->n_copies++ < COPIES ? s->graphs[size % GRAPHS] : NULL;
    break;
  case cudaGraphNodeTypeEventRecord: p.eventRecord.event = s->events[size % EVENTS]; break;
  case cudaGraphNodeTypeWaitEvent: p.eventWait.event = s->events[size % EVENTS]; break;
  case cudaGraphNodeTypeMemAlloc: p.alloc.bytesize = size; break;
  case cudaGraphNodeTypeMemFree: p.free.dptr = at; break;
  case cudaGraphNodeTypeConditional:
    p.conditional.handle = size < 16 ? size : s->handle;
    p.conditional.type =
        (enum cudaGraphConditionalNodeType)(s->may_loop || height != 1 ? height : 0);
    p.conditional.size = next(s) % 4;
    break;
  default: break;
  }
  return p;
}

static void add_node(state *s) {
  const int graph = (int)(next(s) % GRAPHS), at = (int)(next(s) % NODES);
  const cudaGraphNode_t before[] = {s->nodes[next(s) % NODES], s->nodes[next(s) % NODES]};
  struct cudaGraphNodeParams p = params(s);
  cudaGraphNode_t node;
  if (!emu_add_node_12(&node, s->graphs[graph], before, next(s) % 3, &p)) {
    s->nodes[at] = node;
    s->owner[at] = graph;
  }
}

static void drop_graph(state *s, int i) {
  emu_cudaGraphDestroy(s->graphs[i]);
  s->graphs[i] = NULL;
  forget_nodes(s, i);
}

static void change_graphs(state *s, unsigned what) {
  const int i = (int)(next(s) % GRAPHS), j = (int)(next(s) % GRAPHS), k = (int)(next(s) % NODES);
  cudaGraphNode_t some[4];
  size_t n = next(s) % 5;
  enum cudaGraphNodeType type;
  if (what == 0) {
    drop_graph(s, i);
    emu_cudaGraphCreate(&s->graphs[i], next(s) == 255);
  } else if (what == 1 && i != j) {
    drop_graph(s, j);
    emu_cudaGraphClone(&s->graphs[j], s->graphs[i]);
    emu_cudaGraphNodeFindInClone(&some[0], s->nodes[k], s->graphs[j]);
  } else if (what == 2) {
    emu_cudaGraphDestroyNode(s->nodes[k]);
    const cudaGraphNode_t gone = s->nodes[k];
    for (int x = 0; x < NODES; x++) {
      s->nodes[x] = s->nodes[x] == gone ? NULL : s->nodes[x];
    }
  } else if (what == 3) {
    emu_add_edges_12(s->graphs[i], &s->nodes[k], &s->nodes[next(s) % NODES], 1);
  } else if (what == 4) {
    emu_remove_edges_12(s->graphs[i], &s->nodes[k], &s->nodes[next(s) % NODES], 1);
  } else if (what == 5) {
    emu_cudaGraphGetNodes(s->graphs[i], some, (n = n < 4 ? n : 4, &n));
    emu_dependents_12(s->nodes[k], some, (n = 2, &n));
    emu_edges_12(s->graphs[i], some, some + 2, (n = 2, &n));
    emu_cudaGraphNodeGetType(s->nodes[k], &type);
  } else if (what == 6) {
    struct cudaGraphNodeParams p = params(s);
    emu_cudaGraphNodeSetParams(s->nodes[k], &p);
  } else {
    const unsigned value = next(s) % 3;
    s->may_loop = !value;
    emu_cudaGraphConditionalHandleCreate(&s->handle, s->graphs[i], value, next(s) % 2);
  }
}

static void change_execs(state *s, unsigned what) {
  const int i = (int)(next(s) % EXECS), g = (int)(next(s) % GRAPHS), k = (int)(next(s) % NODES);
  cudaGraphExecUpdateResultInfo info;
  unsigned enabled;
  if (what == 0) {
    emu_cudaGraphExecDestroy(s->execs[i]);
    emu_cudaGraphInstantiate(&s->execs[i], s->graphs[g], 0);
  } else if (what == 1) {
    emu_cudaGraphExecUpdate(s->execs[i], s->graphs[g], &info);
  } else if (what == 2 && s->execs[i]) {
    struct cudaGraphNodeParams p = params(s);
    emu_cudaGraphExecNodeSetParams(s->execs[i], s->nodes[k], &p);
  } else if (what == 3) {
    emu_cudaGraphNodeSetEnabled(s->execs[i], s->nodes[k], next(s) % 2);
    emu_cudaGraphNodeGetEnabled(s->execs[i], s->nodes[k], &enabled);
  } else if (s->n_copies++ < COPIES) {
    emu_cudaGraphLaunch(s->execs[i], s->streams[next(s) % STREAMS]);
  }
}

static void capture(state *s, unsigned what) {
  const cudaStream_t stream = s->streams[next(s) % STREAMS];
  const cudaEvent_t event = s->events[next(s) % EVENTS];
  const int g = (int)(next(s) % GRAPHS);
  if (what == 0) {
    emu_cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)(next(s) % 4));
  } else if (what == 1) {
    drop_graph(s, g);
    emu_cudaStreamEndCapture(stream, &s->graphs[g]);
  } else if (what == 2) {
    emu_cudaEventRecord(event, stream);
  } else if (what == 3) {
    emu_cudaStreamWaitEvent(stream, event, 0);
  } else if (what == 4) {
    emu_cudaMemcpyAsync(s->memory, s->host, next(s), cudaMemcpyHostToDevice, stream);
  } else {
    emu_cudaMemsetAsync(s->memory, 1, next(s), stream);
  }
}

static void finish(state *s) {
  for (int i = 0; i < STREAMS; i++) {
    cudaGraph_t g = NULL;
    emu_cudaStreamEndCapture(s->streams[i], &g);
    emu_cudaGraphDestroy(g);
  }
  for (int i = 0; i < EXECS; i++) {
    emu_cudaGraphExecDestroy(s->execs[i]);
  }
  for (int i = 0; i < STREAMS; i++) {
    emu_cudaStreamDestroy(s->streams[i]);
    emu_cudaEventDestroy(s->events[i]);
  }
  for (int i = 0; i < GRAPHS; i++) {
    emu_cudaGraphDestroy(s->graphs[i]);
  }
  emu_cudaDeviceReset();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  state s = {.p = data, .end = data + n};
  static FILE *findings;
  if (!findings && (findings = fopen("/dev/null", "w"))) {
    stderr = findings; /* sanitizers write to its number */
    setenv("TUNED_DEVICE", "emu:h200,memory=4194304", 1);
  }
  emu_cudaMalloc((void **)&s.memory, 2 * BYTES);
  for (int i = 0; i < STREAMS; i++) {
    emu_cudaStreamCreate(&s.streams[i]);
    emu_cudaEventCreate(&s.events[i]);
    emu_cudaGraphCreate(&s.graphs[i], 0);
  }
  for (int i = 0; i < CALLS && s.p < s.end; i++) {
    const unsigned call = next(&s);
    switch (call % 4) {
    case 0: add_node(&s); break;
    case 1: change_graphs(&s, call / 4 % 8); break;
    case 2: change_execs(&s, call / 4 % 5); break;
    default: capture(&s, call / 4 % 6); break;
    }
  }
  finish(&s);
  return 0;
}
