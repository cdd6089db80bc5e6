package definition

import "github.com/agentworker/worker/agentdefs/internal/agentfile"

// vocabulary holds the names of fields.
var vocabulary = func() *agentfile.Vocabulary {
	var all []*agentfile.Field
	for _, f := range fields {
		all = append(all, &f.Field)
	}
	return agentfile.NewVocabulary(all)
}()

// setters takes the values of fields, by their IDs.
var setters = func() map[string]func(*parser, *Definition, agentfile.Entry) {
	m := map[string]func(*parser, *Definition, agentfile.Entry){}
	for _, f := range fields {
		m[f.ID] = f.set
	}
	return m
}()
