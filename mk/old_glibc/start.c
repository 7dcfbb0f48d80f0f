/* The start of a program that is linked as with an older glibc (stubs.py). Since 2.34 glibc calls the
 * constructors of a program itself, and its start file passes none; before, the program brought the function
 * that does. Both call a function that is passed. Linked with --wrap=__libc_start_main. */
typedef int main_function(int argc, char **argv, char **env);
typedef void constructor(int argc, char **argv, char **env);

#define HIDDEN __attribute__((visibility("hidden")))
/* By the linker, and by crti.o. */
extern HIDDEN constructor *__preinit_array_start[], *__preinit_array_end[], *__init_array_start[],
    *__init_array_end[];
extern HIDDEN void _init(void);

extern int __real___libc_start_main(main_function *run, int argc, char **argv, constructor *init,
                                    void (*fini)(void), void (*end_of_linker)(void), void *end_of_stack);
int __wrap___libc_start_main(main_function *run, int argc, char **argv, constructor *init, void (*fini)(void),
                             void (*end_of_linker)(void), void *end_of_stack);

static void construct(int argc, char **argv, char **env)
{
    for (constructor **p = __preinit_array_start; p < __preinit_array_end; p++)
        (*p)(argc, argv, env);
    _init();
    for (constructor **p = __init_array_start; p < __init_array_end; p++)
        (*p)(argc, argv, env);
}

/* With a start file of a glibc before 2.34 there is an init already. */
int __wrap___libc_start_main(main_function *run, int argc, char **argv, constructor *init, void (*fini)(void),
                             void (*end_of_linker)(void), void *end_of_stack)
{
    return __real___libc_start_main(run, argc, argv, init ? init : construct, fini, end_of_linker,
                                    end_of_stack);
}
