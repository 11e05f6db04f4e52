/* cudart_graph.h -- graphs: nodes, what each does, and the nodes each waits for.
 *
 * A node's work is complete in itself: kernels keep copies of their arguments, child and conditional nodes own
 * their graphs. An executable graph is a copy whose nodes are sorted; nodes know which node they are copies of.
 * Memory nodes allocate when they are added; their memory lives as long as the device, because a graph may be
 * launched again after the memory was freed. */
#ifndef CUDART_GRAPH_H
#define CUDART_GRAPH_H

#include "cudart_launch.h"

typedef struct cudart_nodes {
  cudaGraphNode_t *p;
  size_t n, room;
} cudart_nodes;

typedef struct cudart_work {
  enum cudaGraphNodeType type;
  union {
    cudart_launch kernel;
    struct cudaMemcpy3DParms copy;
    struct cudaMemsetParams fill;
    struct cudaHostNodeParams host;
    cudaEvent_t event;
    struct cudaMemAllocNodeParams alloc;
    void *freed;
    cudaGraph_t child;
    struct cudaConditionalNodeParams condition; /* its handle is the address of a word */
  };
} cudart_work;

struct CUgraphNode_st {
  cudaGraph_t graph;
  cudaGraphNode_t origin; /* the node it is a copy of, or NULL */
  cudart_nodes before;    /* what it waits for */
  cudart_work work;
  bool disabled;
  size_t mark; /* for walks: its place in graph->nodes, or whether it was reached */
};

typedef struct cudart_condition { /* shared by the copies of a graph */
  rt_ptr at;
  uint32_t value; /* at each launch, if `assign` */
  bool assign;
  int users;
  uint64_t generation;
} cudart_condition;

struct CUgraph_st {
  cudart_nodes nodes, order; /* as they were added; as they run, after cudart_graph_sort */
  cudart_condition **conditions;
  size_t n_conditions, conditions_room;
};

bool cudart_nodes_add(cudart_nodes *l, cudaGraphNode_t node);
bool cudart_nodes_have(const cudart_nodes *l, cudaGraphNode_t node);

cudaGraph_t cudart_graph_new(void);
void cudart_graph_free(cudaGraph_t g);
/* cudart_graph_copy -- with all that it owns; NULL: out of memory */
cudaGraph_t cudart_graph_copy(cudart *c, cudaGraph_t g);
/* cudart_graph_add -- a node with a copy of the work; cudaErrorInvalidValue: a dependency is of another graph */
cudaError_t cudart_graph_add(cudart *c, cudaGraph_t g, const cudaGraphNode_t *before, size_t n,
                             cudart_work *w, cudaGraphNode_t *out);
/* cudart_graph_sort -- the graph and those inside; false: a cycle, or out of memory */
bool cudart_graph_sort(cudaGraph_t g);
/* cudart_graph_launch -- of a sorted graph */
cudaError_t cudart_graph_launch(cudart *c, cudaGraph_t g);
/* cudart_graph_find -- the copy of a node in a graph or those inside; NULL: none */
cudaGraphNode_t cudart_graph_find(cudaGraph_t g, cudaGraphNode_t origin);
/* cudart_graph_unlink -- `after` waits for `node` no longer */
void cudart_graph_unlink(cudaGraphNode_t node, cudaGraphNode_t after);
/* cudart_graph_number -- mark each node with its place */
void cudart_graph_number(cudaGraph_t g);

/* cudart_work_copy -- cudaErrorInvalidValue: it cannot be run */
cudaError_t cudart_work_copy(cudart *c, cudart_work *to, const cudart_work *from);
void cudart_work_clear(cudart_work *w);
/* cudart_work_replace -- by a copy of other work of its type */
cudaError_t cudart_work_replace(cudart *c, cudart_work *w, const cudart_work *by);
cudaError_t cudart_work_run(cudart *c, const cudart_work *w);
/* cudart_work_graphs -- the graphs inside; returns how many */
size_t cudart_work_graphs(const cudart_work *w, cudaGraph_t **graphs);

#endif
