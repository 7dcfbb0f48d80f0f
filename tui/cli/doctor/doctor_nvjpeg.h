/* tui/cli/doctor/doctor_nvjpeg.h: the row of `pipeprobe doctor` on JPEG decoding on the GPU: the library, the
 * device's engines, and the back end that run --decode would take. */
#ifndef PP_TUI_CLI_DOCTOR_DOCTOR_NVJPEG_H
#define PP_TUI_CLI_DOCTOR_DOCTOR_NVJPEG_H

struct pp_finding;

void pp_look_nvjpeg(struct pp_finding *f);

#endif
