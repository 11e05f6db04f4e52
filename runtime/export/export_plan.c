#include "export_plan.h"

#include <string.h>

bool plan_has(const gen_plan *plan, gen_from from) {
  for (size_t i = 0; i < plan->n; i++) {
    for (size_t j = 0; j < plan->launches[i].n_operands; j++) {
      if (plan->launches[i].operands[j].from == from) {
        return true;
      }
    }
  }
  return false;
}

size_t plan_workspace_number(const gen_plan *plan, size_t i) {
  size_t number = 0;
  for (size_t j = 0; j < i; j++) {
    number += plan->workspaces[j] > 0;
  }
  return number;
}

size_t plan_count_workspaces(const gen_plan *plan) {
  return plan_workspace_number(plan, plan->n_workspaces);
}

static bool same_kernel(const gen_launch *a, const gen_launch *b) {
  return a->kernel && b->kernel && !strcmp(a->kernel, b->kernel);
}

bool plan_is_first_kernel(const gen_plan *plan, size_t i) {
  for (size_t j = 0; j < i; j++) {
    if (same_kernel(&plan->launches[j], &plan->launches[i])) {
      return false;
    }
  }
  return plan->launches[i].kernel;
}

uint32_t plan_most_smem(const gen_plan *plan, const gen_launch *l) {
  uint32_t most = 0;
  for (size_t i = 0; i < plan->n; i++) {
    if (same_kernel(&plan->launches[i], l) && plan->launches[i].smem > most) {
      most = plan->launches[i].smem;
    }
  }
  return most;
}

bool plan_overlaps(const gen_plan *plan) {
  for (size_t i = 0; i < plan->n; i++) {
    if (plan->launches[i].overlap) {
      return true;
    }
  }
  return false;
}

bool plan_is_first_symbol(const gen_plan *plan, size_t i) {
  const char *symbol = plan->launches[i].symbol;
  for (size_t j = 0; symbol && j < i; j++) {
    if (plan->launches[j].symbol && !strcmp(plan->launches[j].symbol, symbol)) {
      return false;
    }
  }
  return symbol;
}

uint64_t plan_most_nbytes(const gen_plan *plan, const char *symbol) {
  uint64_t most = 0;
  for (size_t i = 0; i < plan->n; i++) {
    const gen_launch *l = &plan->launches[i];
    most = l->symbol && !strcmp(l->symbol, symbol) && l->nbytes > most ? l->nbytes : most;
  }
  return most;
}

bool plan_uses_module(const gen_plan *plan) {
  for (size_t i = 0; i < plan->n; i++) {
    if (plan->launches[i].kernel || plan->launches[i].symbol) {
      return true;
    }
  }
  return false;
}

bool plan_has_while(const gen_plan *plan) {
  for (size_t i = 0; i < plan->n; i++) {
    if (plan->launches[i].loop && plan->launches[i].loop->is_while) {
      return true;
    }
  }
  return plan_has(plan, GEN_FROM_LOOP);
}
