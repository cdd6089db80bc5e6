package ci

import (
	"encoding/xml"
	"fmt"
	"time"

	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/termtext"
)

// Suite is a suite of cases, as JUnit reports have it.
type Suite struct {
	Name  string
	Cases []Case
}

// Case is a case of a suite.
type Case struct {
	Class, Name string
	Took        time.Duration
	Failure     string // what is wrong; empty means nothing is
	Output      string // for whoever looks into it
}

// The elements of a JUnit report, as the readers in use take them.
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the JUnit report of a suite to a file, which it replaces.
func WriteJUnit(file string, s Suite) error {
	var total time.Duration
	doc := junitSuites{Tests: len(s.Cases), Suite: junitSuite{Name: s.Name, Tests: len(s.Cases)}}
	for _, c := range s.Cases {
		made := junitCase{Class: c.Class, Name: c.Name, Time: seconds(c.Took), Output: c.Output}
		if c.Failure != "" {
			doc.Failures++
			made.Failure = &junitFailure{termtext.OneLine(c.Failure, termtext.MaxCause), c.Failure}
		}
		total += c.Took
		doc.Suite.Cases = append(doc.Suite.Cases, made)
	}
	doc.Suite.Failures, doc.Suite.Time = doc.Failures, seconds(total)
	data, err := xml.MarshalIndent(doc, "", "  ")
	if err == nil {
		err = atomicfile.Write(file, append([]byte(xml.Header), append(data, '\n')...), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the JUnit report: %w", err)
	}
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
