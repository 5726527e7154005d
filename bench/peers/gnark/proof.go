// Whole proofs by gnark of statements like those of bench/synthetic.py: eight small weights in each sum, a fifth of the
// rows products of two sums, whose values are the last fifth of the variables. The others say that a sum is itself.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"
	"github.com/rs/zerolog"
)

const (
	public  = 10
	entries = 8
)

type circuit struct {
	Public [public]frontend.Variable `gnark:",public"`
	Chosen []frontend.Variable
	rows   int
}

func (c *circuit) Define(api frontend.API) error {
	draw := rand.New(rand.NewPCG(1, 1))
	sum := func(of []frontend.Variable) (total frontend.Variable) {
		total = 0
		for range entries {
			weight := (1 + draw.IntN(127)) * (1 - 2*draw.IntN(2))
			total = api.Add(total, api.Mul(of[draw.IntN(len(of))], weight))
		}
		return
	}
	all := c.Chosen
	for range c.rows - len(c.Chosen) {
		all = append(all, api.Mul(sum(c.Chosen), sum(c.Chosen)))
	}
	for range c.Chosen {
		value := sum(all)
		api.AssertIsEqual(value, value) // 1 * value = value: A has fewer variables than ours
	}
	return nil
}

// The statement that was proven last, and its key.
var (
	proven int
	system constraint.ConstraintSystem
	key    groth16.ProvingKey
)

// What gnark says of its work.
var said bytes.Buffer

func init() { logger.Set(zerolog.New(&said)) }

func blank(logSize int) *circuit {
	rows := 1<<logSize - 1 - public
	return &circuit{Chosen: make([]frontend.Variable, rows-rows/5), rows: rows}
}

func setUp(logSize int) (err error) {
	if proven == logSize {
		return nil
	}
	if system, err = frontend.Compile(ecc.BLS12_381.ScalarField(), r1cs.NewBuilder, blank(logSize)); err != nil {
		return err
	}
	key, _, err = groth16.Setup(system)
	proven = logSize
	return err
}

func assignment(shape string, logSize int) (witness.Witness, error) {
	draw := rand.New(rand.NewPCG(2, 2))
	values := blank(logSize)
	for i := range values.Public {
		values.Public[i] = 1
	}
	for i := range values.Chosen {
		switch {
		case shape == "dense":
			var value fr.Element
			value.SetRandom()
			values.Chosen[i] = value
		case i%4 == 0:
			values.Chosen[i] = draw.IntN(2)
		default:
			values.Chosen[i] = draw.IntN(256)
		}
	}
	return frontend.NewWitness(values, ecc.BLS12_381.ScalarField())
}

// Seconds that gnark itself reports: those after all variables are solved.
func prove(shape string, logSize int) (string, error) {
	if err := setUp(logSize); err != nil {
		return "", err
	}
	values, err := assignment(shape, logSize)
	if err != nil {
		return "", err
	}
	said.Reset()
	if _, err := groth16.Prove(system, key, values); err != nil {
		return "", err
	}
	for line := range bytes.Lines(said.Bytes()) {
		var event struct {
			Message string
			Took    float64 // milliseconds
		}
		if json.Unmarshal(line, &event) == nil && event.Message == "prover done" {
			return seconds(event.Took / 1000), nil
		}
	}
	return "", fmt.Errorf("gnark does not say how long it took")
}
