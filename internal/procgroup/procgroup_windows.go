package procgroup

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// jobs has the job objects of the commands that have begun: what a command starts is in its job. A
// job ends with its handle, so also with this process.
var jobs = struct {
	sync.Mutex
	of map[*exec.Cmd]windows.Handle
}{of: make(map[*exec.Cmd]windows.Handle)}

// Own has what cmd starts end with its context. Call it before [Start]. The signal makes no
// difference: these systems have none.
func Own(cmd *exec.Cmd, _ syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED}
	cmd.Cancel = func() error {
		terminate(cmd)
		return cmd.Process.Kill() // should it not be in its job yet
	}
}

// Start starts cmd, which is [Own]. It begins within its job, so that nothing it starts is outside.
func Start(cmd *exec.Cmd) error {
	job, err := newJob()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, windows.CloseHandle(job))
	}
	jobs.Lock()
	jobs.of[cmd] = job
	jobs.Unlock()
	held := cmd.Process.WithHandle(func(process uintptr) { err = windows.AssignProcessToJobObject(job, windows.Handle(process)) })
	if err = cmp.Or(held, err); err == nil {
		err = resume(uint32(cmd.Process.Pid))
	}
	if err != nil {
		_ = cmd.Process.Kill() // it has not begun
		_ = cmd.Wait()
		Kill(cmd)
		return fmt.Errorf("starting a command within a job: %w", err)
	}
	return nil
}

// newJob makes a job object whose processes end with its handle.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("making a job: %w", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return 0, errors.Join(fmt.Errorf("making a job: %w", err), windows.CloseHandle(job))
	}
	return job, nil
}

// resume has a process begin that was made suspended: it has one thread.
func resume(pid uint32) error {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(all)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(all, &entry); err == nil; err = windows.Thread32Next(all, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		return errors.Join(err, windows.CloseHandle(thread))
	}
	return err
}

// terminate ends what is in the job of cmd, if there still is one.
func terminate(cmd *exec.Cmd) {
	jobs.Lock()
	defer jobs.Unlock()
	if job, ok := jobs.of[cmd]; ok {
		_ = windows.TerminateJobObject(job, 1) // else the end of its handle does
	}
}

// Control does nothing: these systems have no terminals that control a group.
func Control(*exec.Cmd) {}

// Signal ends what cmd, which has been started, has begun, whatever the signal is.
func Signal(cmd *exec.Cmd, _ syscall.Signal) error {
	terminate(cmd)
	return nil
}

// Kill ends what is left of what cmd, which has been started, has begun. Call it once cmd has ended,
// too: it frees the job.
func Kill(cmd *exec.Cmd) {
	terminate(cmd)
	jobs.Lock()
	defer jobs.Unlock()
	if job, ok := jobs.of[cmd]; ok {
		_ = windows.CloseHandle(job)
		delete(jobs.of, cmd)
	}
}
